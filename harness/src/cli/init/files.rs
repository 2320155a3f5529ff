//! The files that are written.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::super::Failure;

/// Writes all of them or none: a file that is there stays, unless the user wants otherwise.
pub(super) fn write(root: &Path, files: &[(&str, String)], force: bool) -> Result<(), Failure> {
    let there: Vec<String> = files
        .iter()
        .map(|(path, _)| root.join(path))
        .filter(|path| fs::symlink_metadata(path).is_ok())
        .map(|path| path.display().to_string())
        .collect();
    if !there.is_empty() && !force {
        let problem = format!("there already, and nothing was written: {}", there.join(", "));
        return Err(Failure::usage(problem, "look at what is there; --force writes over it"));
    }
    files.iter().try_for_each(|(path, _)| is_free(root, path))?;
    for (path, text) in files {
        let path = root.join(path);
        let unwritable = |error: std::io::Error| {
            Failure::environment(format!("cannot write {}: {error}", path.display()), "name another directory")
        };
        fs::create_dir_all(path.parent().unwrap_or(root)).map_err(unwritable)?;
        // What a link leads to is not ours to write over.
        if fs::symlink_metadata(&path).is_ok_and(|there| there.is_symlink()) {
            fs::remove_file(&path).map_err(unwritable)?;
        }
        let mut file = fs::File::create(&path).map_err(unwritable)?;
        file.write_all(text.as_bytes()).map_err(unwritable)?;
    }
    Ok(())
}

/// That a file can be written there: what stands in its way is no folder and no pipe, and no folder on the way to it leads elsewhere.
fn is_free(root: &Path, path: &str) -> Result<(), Failure> {
    let in_the_way = |place: &Path, what: &str| {
        let problem = format!("{} {what}, and nothing was written", place.display());
        Err(Failure::usage(problem, "take it away, or name another directory"))
    };
    let mut place = root.to_owned();
    let mut parts = Path::new(path).components().peekable();
    while let Some(part) = parts.next() {
        place.push(part);
        let Ok(there) = fs::symlink_metadata(&place) else { return Ok(()) };
        match parts.peek() {
            Some(_) if !there.is_dir() => return in_the_way(&place, "is no folder"),
            None if !there.is_file() && !there.is_symlink() => return in_the_way(&place, "is no file"),
            _ => {}
        }
    }
    Ok(())
}
