-- Orders that are late, with the day promised and what they wait for.
-- Printed every morning at 6:30 for the foremen of the loft and the rope walk.
SELECT o.number,
       c.name AS customer,
       o.promised_on,
       current_date - o.promised_on AS days_late,
       string_agg(DISTINCT l.part, ', ' ORDER BY l.part) AS missing_parts
FROM customer_order AS o
JOIN customer AS c ON c.id = o.customer_id
JOIN order_line AS l ON l.order_id = o.id
LEFT JOIN stock AS s ON s.part = l.part
WHERE o.shipped_on IS NULL
  AND o.promised_on < current_date
  AND l.quantity > coalesce(s.on_hand, 0)
GROUP BY o.number, c.name, o.promised_on
ORDER BY days_late DESC, o.number;
