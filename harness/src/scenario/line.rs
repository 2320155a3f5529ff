//! The line of a YAML file at which something stands that was read without places.

use super::diagnostic::Source;
use super::parse::tree::{self, Kind, Mark, Node};

/// The line, from 1, to which a path leads, or to which as much of it leads as is there. A step is a key, the position in a list, or
/// `key=value` for the last item of a list that says so.
pub(crate) fn line_of(text: &str, path: &[String]) -> Option<usize> {
    depth_and_line(text, path).map(|(_, line)| line)
}

/// The line of the path of which least is missing.
pub(crate) fn nearest(text: &str, paths: &[Vec<String>]) -> Option<usize> {
    let missing = |path: &Vec<String>| depth_and_line(text, path).map(|(depth, line)| (path.len() - depth, line));
    // The first of several that lead as far.
    paths.iter().filter_map(missing).min_by_key(|(missing, _)| *missing).map(|(_, line)| line)
}

fn depth_and_line(text: &str, path: &[String]) -> Option<(usize, usize)> {
    let documents = tree::read(&Source::new("", text), &mut Vec::new());
    let mut node = &documents.first()?.root;
    let mut found = None;
    for (depth, step) in path.iter().enumerate() {
        let Some((mark, below)) = follow(node, step) else { break };
        found = Some((depth + 1, mark.place.line));
        node = below;
    }
    found
}

fn follow<'n>(node: &'n Node, step: &str) -> Option<(Mark, &'n Node)> {
    match &node.kind {
        Kind::Map(entries) => entries.iter().find(|(key, _)| key.name == step).map(|(key, value)| (key.mark, value)),
        Kind::List(items) => {
            let item = match step.split_once('=') {
                Some((key, value)) => items.iter().rfind(|item| item.get(key).and_then(Node::text) == Some(value)),
                None => items
                    .iter()
                    .rfind(|item| item.text() == Some(step))
                    .or_else(|| items.get(step.parse::<usize>().ok()?)),
            }?;
            Some((item.mark, item))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const TEXT: &str = "metadata: {name: a}\nspec:\n  kinds:\n    - {kind: A}\n    - {kind: B}\n    - {kind: A}\n  list:\n    - one\n    - two\n";

    #[rstest]
    #[case::key(&["metadata", "name"], Some(1))]
    #[case::the_last_of_a_kind(&["spec", "kinds", "kind=A"], Some(6))]
    #[case::an_item(&["spec", "list", "two"], Some(9))]
    #[case::a_position(&["spec", "kinds", "1"], Some(5))]
    #[case::as_far_as_it_goes(&["spec", "kinds", "kind=C", "plural"], Some(3))]
    #[case::nowhere(&["specs"], None)]
    fn a_path_leads_to_a_line(#[case] path: &[&str], #[case] line: Option<usize>) {
        let path: Vec<String> = path.iter().map(|step| (*step).to_owned()).collect();
        assert_eq!(line_of(TEXT, &path), line);
    }

    #[test]
    fn the_path_of_which_most_is_there_counts() {
        let paths = [["spec", "x"], ["spec", "list"]].map(|path| path.map(str::to_owned).to_vec());
        assert_eq!(nearest(TEXT, &paths), Some(7));
        assert_eq!(nearest("a: [", &paths), None);
    }
}
