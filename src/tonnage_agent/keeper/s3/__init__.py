"""A small S3 client on the standard library: signed requests, big files in parts, retries, conditional creation.

    signing      Signature Version 4, pure
    credentials  where access keys come from, and how they are renewed
    addressing   bucket and environment -> host, path, region, pure
    sending      one request over a kept connection, tried again where that helps
    client       what the keeper asks of a bucket
    uploading, downloading   big files in parts

It knows S3's common core, the part that every compatible server has; it is not a general client.
"""

from tonnage_agent.keeper.s3.client import S3Client, open_client

__all__ = ["S3Client", "open_client"]
