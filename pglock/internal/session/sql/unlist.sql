-- Takes a lease off the list.
delete from tenure.holding where session = $1 and acq = $2
