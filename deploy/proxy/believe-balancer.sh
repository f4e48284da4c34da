#!/bin/sh
# Prints which load balancers nginx-plain.conf believes, of the addresses or networks that it is given:
#
#   believe-balancer.sh 10.0.0.5 10.0.1.0/24 >/etc/nginx/kebab/kebab-balancer.conf
#
# Whoever reaches nginx from such an address can say to be anybody: let balancers alone reach it from there.
set -eu

cat <<'NGINX'
# Who says by X-Forwarded-For and X-Forwarded-Proto who asks and how; nobody else is believed.
# Written by believe-balancer.sh.
geo $realip_remote_addr $kebab_is_balancer {
    default 0;
NGINX
for balancer in "$@"; do
    echo "    $balancer 1;"
done
echo "}"
for balancer in "$@"; do
    echo "set_real_ip_from $balancer;"
done
