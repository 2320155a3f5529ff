package image

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func TestImage(t *testing.T) {
	root, file := t.TempDir(), filepath.Join(t.TempDir(), "image.tar")
	if err := os.MkdirAll(filepath.Join(root, "usr/bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "usr/bin/tool"), []byte("content"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("usr/bin", filepath.Join(root, "bin")); err != nil {
		t.Fatal(err)
	}
	if err := write("interop.local/tool:1", root, file, "7:8", []string{"tool", "-x"}); err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	described, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if described.Config.User != "7:8" || !slices.Equal(described.Config.Entrypoint, []string{"tool", "-x"}) {
		t.Errorf("it runs %v as %s", described.Config.Entrypoint, described.Config.User)
	}
	files := mutate.Extract(image)
	defer files.Close()
	found := map[string]string{}
	for from := tar.NewReader(files); ; {
		header, err := from.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Uname != "" {
			t.Errorf("%s is of %d %s", header.Name, header.Uid, header.Uname)
		}
		found[header.Name] = header.Linkname + string(content)
	}
	if found["usr/bin/tool"] != "content" || found["bin"] != "usr/bin" {
		t.Errorf("it has %v", found)
	}
}

func TestNamesThatAreNone(t *testing.T) {
	if err := write("Not a name", t.TempDir(), filepath.Join(t.TempDir(), "image.tar"), "", nil); err == nil {
		t.Error("it took any name")
	}
}
