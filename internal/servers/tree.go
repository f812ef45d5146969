package servers

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// pack writes a folder as a tar stream.
func pack(to io.Writer, folder string) error {
	archive := tar.NewWriter(to)
	if err := archive.AddFS(os.DirFS(folder)); err != nil {
		return fmt.Errorf("pack %s: %w", folder, err)
	}
	return archive.Close()
}

// unpack makes a folder, which must not exist, from a tar stream, with everything in it owned by the account. After an error
// a part of it may be there.
func unpack(from io.Reader, folder string, owner account) error {
	if err := os.Mkdir(folder, 0o700); err != nil { // what is not for us alone is refused by PostgreSQL
		return err
	}
	archive := tar.NewReader(from)
	for {
		if err := owner.own(folder); err != nil {
			return err
		}
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w", folder, err)
		}
		path := filepath.Join(folder, header.Name)
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, header.FileInfo().Mode().Perm())
		} else {
			err = unpackFile(archive, path, header)
		}
		if err == nil {
			err = owner.own(path)
		}
		if err != nil {
			return err
		}
	}
}

func unpackFile(from io.Reader, path string, header *tar.Header) error {
	if header.Typeflag != tar.TypeReg {
		return fmt.Errorf("unpack %s: it is neither a file nor a folder", path)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, header.FileInfo().Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}

// copyTree copies a folder to one that must not exist yet.
func copyTree(to, from string, owner account) error {
	read, write := io.Pipe()
	packed := make(chan struct{})
	go func() {
		defer close(packed)
		write.CloseWithError(pack(write, from))
	}()
	err := unpack(read, to, owner)
	read.CloseWithError(errors.New("no longer read")) // ends pack, if it still runs
	<-packed
	return err
}
