// Package image makes images of files, without a registry.
package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/spf13/cobra"
)

// Command makes an image in a file.
func Command() *cobra.Command {
	var user string
	command := &cobra.Command{
		Use:   "image NAME ROOT FILE [ENTRYPOINT...]",
		Short: "Make an image named NAME of the files below ROOT, in a tar FILE that a container runtime imports",
		Args:  cobra.MinimumNArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			return write(args[0], args[1], args[2], user, args[3:])
		},
	}
	command.Flags().StringVar(&user, "user", "65532:65532", "who its processes are")
	return command
}

// write makes an image of one layer.
func write(reference, root, file, user string, entrypoint []string) error {
	tag, err := name.NewTag(reference)
	if err != nil {
		return fmt.Errorf("the image's name: %w", err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return archive(root), nil })
	if err != nil {
		return fmt.Errorf("reading %s: %w", root, err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	described, err := image.ConfigFile()
	if err != nil {
		return err
	}
	described = described.DeepCopy()
	described.OS, described.Architecture = "linux", runtime.GOARCH
	described.Config.Entrypoint = entrypoint
	described.Config.User = user
	described.Config.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	if image, err = mutate.ConfigFile(image, described); err != nil {
		return err
	}
	// Whoever waits for the file finds it whole.
	partial := file + ".partial"
	if err := tarball.WriteToFile(partial, tag, image); err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", partial, err), os.Remove(partial))
	}
	return os.Rename(partial, file)
}

// archive has the files below root as a tar, all of them root's.
func archive(root string) io.ReadCloser {
	read, into := io.Pipe()
	go func() {
		to := tar.NewWriter(into)
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || path == root {
				return err
			}
			return add(to, root, path, entry)
		})
		into.CloseWithError(errors.Join(err, to.Close()))
	}()
	return read
}

func add(to *tar.Writer, root, path string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if target, err = os.Readlink(path); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	if header.Name, err = filepath.Rel(root, path); err != nil {
		return err
	}
	header.Uid, header.Gid, header.Uname, header.Gname = 0, 0, "", ""
	if err := to.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(to, file)
	return err
}
