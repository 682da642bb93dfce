"""The JSON API of the tables: what it answers, and what all of the API shares.

`shared` has the view sets, filters and rights, `paging` the one pager, `problems` every kind of error, `schema` how it
is described. A view of the API derives from `ApiView` or a view set of `shared`, names what one must be allowed to do
(`needs`), and raises `Problem` where it refuses. `baccarat_audit/api_urls.py` has the addresses.
"""
