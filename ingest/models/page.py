"""Pages of web sites as last read, so that unchanged ones are neither sent nor parsed again."""

from django.db import models

from kebab.tenancy.fields import tenant_key, workspace_key
from search.models.tenant import TenantQuerySet


class WebPage(models.Model):
    """A page as it was last read; its bytes are stored as a blob while it is, or will become, a document."""

    id = models.BigAutoField(primary_key=True)
    workspace = workspace_key()
    source = tenant_key("search.Source", "pages")
    # Path and query of its address, in normal form.
    key = models.CharField(max_length=1000)
    url = models.CharField(max_length=2000)
    # Path of the document that it is or would be.
    path = models.CharField(max_length=1000)
    # Whether it was the document at that path when the site was last listed.
    is_listed = models.BooleanField(default=False)
    is_noindex = models.BooleanField(default=False)
    etag = models.CharField(max_length=500, blank=True, default="")
    last_modified = models.CharField(max_length=100, blank=True, default="")
    # Empty when no bytes are stored.
    content_hash = models.CharField(max_length=64, blank=True, default="")
    size_bytes = models.BigIntegerField(default=0)
    # Keys of the source's pages that it links to, in order.
    links = models.JSONField(default=list, blank=True)
    # The key of its canonical address; empty for none.
    canonical = models.CharField(max_length=1000, blank=True, default="")
    # Fingerprints of its text, by which equal pages and changes are told.
    fingerprints = models.JSONField(default=dict, db_default={}, blank=True)
    # Why it could not be read last time; earlier content stays.
    error = models.CharField(max_length=500, blank=True, default="")
    # For an address that is no page, until the listing has ended: its redirect, or the reason it is skipped.
    leads_to = models.CharField(max_length=4000, blank=True, default="")
    skipped = models.CharField(max_length=64, blank=True, default="")
    # The job that last requested it.
    seen_by = models.UUIDField(null=True, blank=True)
    at = models.DateTimeField(auto_now=True)

    objects = TenantQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("workspace", "source", "key"), name="web_page_once"),)
        indexes = (models.Index(fields=("workspace", "content_hash"), name="web_page_by_content"),)

    def __str__(self) -> str:
        return self.key

    @property
    def revision(self) -> str:
        """Return the revision of the document: the hash of its bytes and the scheme of its address."""
        return f"{self.content_hash} {self.url.partition(':')[0]}"
