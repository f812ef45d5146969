-- The numbering of grants as it is now: whether it is valid, its sequence's oid (null if it is gone), the ceiling.
select valid, grants, high from tenure.numbering()
