package filelock

// remote lists the file systems on which flock(2) is not the local kernel's word, by the type that statfs(2) gives on
// Linux (linux/magic.h, and the sources of those outside the kernel). Some forward it to a server, some keep it to one
// mount, some grant it to everybody; none frees it for certain when a holder dies. And those that keep no files at all.
func remote(magic uint32) string {
	switch magic {
	case 0x6969:
		return "NFS"
	case 0x517b, 0xff534d42, 0xfe534d42:
		return "SMB/CIFS"
	case 0x65735546:
		return "FUSE"
	case 0x01021997:
		return "9P"
	case 0x5346414f, 0x6b414653:
		return "AFS"
	case 0x73757245:
		return "Coda"
	case 0x564c:
		return "NCP"
	case 0x00c36400:
		return "Ceph"
	case 0x0bd00bd0:
		return "Lustre"
	case 0x01161970:
		return "GFS2"
	case 0x7461636f:
		return "OCFS2"
	case 0x47504653:
		return "GPFS"
	case 0x19830326:
		return "BeeGFS"
	case 0x20030528:
		return "OrangeFS"
	case 0xaad7aaea:
		return "PanFS"
	case 0x61636673:
		return "ACFS"
	case 0x786f4256:
		return "a VirtualBox shared folder"
	case 0xbacbacbc:
		return "a VMware shared folder"
	case 0x7c7c6673:
		return "a Parallels shared folder"
	case 0x00c0ffee:
		return "hostfs"
	case 0x9fa0:
		return "procfs"
	case 0x62656572:
		return "sysfs"
	case 0x1cd1:
		return "devpts"
	case 0x27e0eb, 0x63677270:
		return "cgroupfs"
	}
	return ""
}

// refuse is the answer to a directory on such a file system.
func refuse(dir, kind string) error {
	return lasting("the directory %s is on %s, where no lock file can be relied on; "+
		"choose a directory on a local file system, or a store that is made for several machines", dir, kind)
}
