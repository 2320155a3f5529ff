use rstest::rstest;

use super::super::types::Implementation;
use super::*;

fn report() -> ConformanceReport {
    ConformanceReport {
        gateway_api_version: "v1.6.1".to_owned(),
        gateway_api_channel: Some("standard".to_owned()),
        mode: Some("default".to_owned()),
        implementation: Implementation {
            organization: "Acme Corp".to_owned(),
            project: "gateway".to_owned(),
            version: "v2.1.0".to_owned(),
            ..Implementation::default()
        },
        ..ConformanceReport::default()
    }
}

const NAME: &str = "standard-v2.1.0-default-report.yaml";
const README: &str = "\
# Gateway

## Table of Contents

| API channel | Implementation version | Mode | Report |
|---|---|---|---|
| standard | [v2.1.0](https://example.test/v2.1.0) | default | [link](./standard-v2.1.0-default-report.yaml) |

## Reproduce

```sh
# Reproduce it
make conformance
```
";

fn place(path: &str) -> Option<Place> {
    Place::of(&path.split('/').collect::<Vec<_>>())
}

#[rstest]
#[case::there("src/conformance/reports/v1.6/acme-gateway/a.yaml", Some(("v1.6", vec!["acme-gateway"], "a.yaml")))]
#[case::the_inner_one("conformance/reports/v1.0/conformance/reports/v1.6/a/b.yaml", Some(("v1.6", vec!["a"], "b.yaml")))]
#[case::without_a_folder("conformance/reports/v1.6/a.yaml", Some(("v1.6", vec![], "a.yaml")))]
#[case::too_deep("conformance/reports/v1.6/a/b/c.yaml", Some(("v1.6", vec!["a", "b"], "c.yaml")))]
#[case::of_a_patch("conformance/reports/v1.2.1/a/b.yaml", Some(("v1.2.1", vec!["a"], "b.yaml")))]
#[case::of_no_release("conformance/reports/nightly/a/b.yaml", None)]
#[case::a_report_directory("gateproof-report/conformance-report.yaml", None)]
#[case::elsewhere("official-reports/v1.6/acme-gateway/a.yaml", None)]
#[case::nothing("", None)]
fn places_are_told_by_their_folders(#[case] path: &str, #[case] expected: Option<(&str, Vec<&str>, &str)>) {
    let found = place(path);
    let found = found.as_ref().map(|place| {
        let folders = place.folders.iter().map(String::as_str).collect();
        (place.release.as_str(), folders, place.name.as_str())
    });
    assert_eq!(found, expected);
}

#[rstest]
#[case::fit("v1.6/acme-gateway/standard-v2.1.0-default-report.yaml", &[])]
#[case::project_alone("v1.6/gateway/standard-v2.1.0-default-report.yaml", &[])]
#[case::with_another_word("v1.6/acme-cloud-gateway/standard-v2.1.0-default-report.yaml", &[])]
#[case::of_a_patch("v1.6.0/acme-gateway/standard-v2.1.0-default-report.yaml", &[])]
#[case::without_its_letter("v1.6/acme-gateway/standard-2.1.0-default-report.yaml", &[])]
#[case::of_another_release("v1.2/acme-gateway/standard-v2.1.0-default-report.yaml", &[("path.release", "is `v1.2`, and the report is about v1.6.1: it belongs into v1.6")])]
#[case::before_the_rules("v1.0/Foo_x/whatever.yml", &[("path.release", "it belongs into v1.6")])]
#[case::letters("v1.6/Acme_gateway/standard-v2.1.0-default-report.yaml", &[("path.folder", "is `Acme_gateway`; small letters, digits and hyphens make it, as in `acme-corp-gateway`")])]
#[case::of_somebody_else("v1.6/foo-x/standard-v2.1.0-default-report.yaml", &[("path.folder", "names neither organization nor project")])]
#[case::without_a_folder("v1.6/standard-v2.1.0-default-report.yaml", &[("path.folder", "is missing; reports stand in one folder of their implementation")])]
#[case::too_deep("v1.6/a/b/standard-v2.1.0-default-report.yaml", &[("path.folder", "is `a/b`; reports stand in one folder")])]
#[case::another_name("v1.6/acme-gateway/whatever.yml", &[("path.name", "is `whatever.yml`; upstream's rules make it `standard-v2.1.0-default-report.yaml`"), ("README.md", "has no row")])]
fn a_report_stands_where_upstream_wants_it(#[case] path: &str, #[case] expected: &[(&str, &str)]) {
    let place = place(&format!("conformance/reports/{path}")).unwrap();
    let readme = README.replace(
        "./standard-v2.1.0",
        &format!("./standard-{}", if path.contains("standard-2") { "2.1.0" } else { "v2.1.0" }),
    );
    let found = misplaced(&report(), &place, Some(&readme));
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (defect, (field, part)) in found.iter().zip(expected) {
        assert_eq!(&defect.field, field);
        assert!(defect.problem.contains(part), "no `{part}` in {}", defect.problem);
    }
}

#[rstest]
#[case::names_of_another_script("株式会社", "関所", "sekisho", true)]
#[case::names_of_nothing("", "", "anything", true)]
#[case::not_in_a_url("acme", "gateway", "acmé", false)]
#[case::empty("acme", "gateway", "", false)]
fn folders_name_their_implementation(
    #[case] organization: &str,
    #[case] project: &str,
    #[case] folder: &str,
    #[case] is_fit: bool,
) {
    let [organization, project] = [organization, project].map(str::to_owned);
    let who = Implementation { organization, project, ..Implementation::default() };
    assert_eq!(unfit(folder, &who).is_none(), is_fit);
}

fn of_readme(readme: Option<&str>) -> Vec<String> {
    let place = place(&format!("conformance/reports/v1.6/acme-gateway/{NAME}")).unwrap();
    let found = misplaced(&report(), &place, readme);
    assert!(found.iter().all(|one| one.field == "README.md"), "{found:?}");
    found.into_iter().map(|one| one.problem).collect()
}

/// What GitHub shows is looked at, however it is written.
#[rstest]
#[case::code_in_one_line("# Gateway\n", "# Gateway\n\n```helm install gateway```\n")]
#[case::underlined("## Reproduce\n", "Reproduce\n---\n")]
#[case::links_by_name(
    "[link](./standard-v2.1.0-default-report.yaml) |\n",
    "[link][one] |\n\n[one]: standard-v2.1.0-default-report.yaml\n"
)]
#[case::code_for_names("| default |", "| `default` |")]
fn a_readme_is_written_in_many_ways(#[case] one: &str, #[case] other: &str) {
    assert!(README.contains(one));
    assert_eq!(of_readme(Some(&README.replacen(one, other, 1))), [] as [&str; 0]);
}

#[rstest]
#[case("nginx-gateway-fabric", "F5", "NGINXGatewayFabric", true)]
#[case("nginx-inc-gateway", "F5", "NGINXGatewayFabric", false)]
#[case("acme", "Acme Corp", "gateway", true)]
fn a_folder_names_who_made_it(
    #[case] folder: &str,
    #[case] organization: &str,
    #[case] project: &str,
    #[case] fit: bool,
) {
    let [organization, project] = [organization, project].map(str::to_owned);
    let who = Implementation { organization, project, ..Implementation::default() };
    assert_eq!(unfit(folder, &who).is_none(), fit);
}

#[test]
fn a_readme_is_beside_each_report() {
    assert_eq!(of_readme(Some(README)), [] as [&str; 0]);
    let found = of_readme(None);
    assert!(found.len() == 1 && found[0].starts_with("is not there"), "{found:?}");
    assert_eq!(of_readme(Some("")).len(), 2);
}

#[rstest]
#[case::without_its_letter("[v2.1.0]", "[2.1.0]", None)]
#[case::said_in_a_word("[v2.1.0]", "[version-2.1.0]", None)]
#[case::without_a_link("[v2.1.0](https://example.test/v2.1.0)", "`v2.1.0`", None)]
#[case::address_alone("[v2.1.0](https://example.test/v2.1.0)", "https://example.test/v2.1.0", None)]
#[case::more_words("| default |", "| Namespaces (default) |", None)]
#[case::escaped("[v2.1.0]", "[v2\\.1\\.0]", None)]
#[case::another_word_for_the_link("[link]", "[v2.1.0 report]", None)]
#[case::link_without_a_dot("(./standard", "(standard", None)]
#[case::link_with_a_title("report.yaml)", "report.yaml \"it\")", None)]
#[case::row_without_edges("| standard | [v2.1.0]", "standard | [v2.1.0]", None)]
#[case::another_row_too(
    "| standard | [v2.1.0]",
    "| x | x | x | [link](./standard-v2.1.0-default-report.yaml) |\n| standard | [v2.1.0]",
    None
)]
#[case::steps("## Reproduce", "## Steps to reproduce", None)]
#[case::section_in_parts("```sh\n", "### v2\n\n```sh\n", None)]
#[case::another_channel(
    "| standard |",
    "| experimental |",
    Some("has `experimental` as API channel of this report, which itself says `standard`")
)]
#[case::another_version(
    "[v2.1.0]",
    "[v2.1.1]",
    Some("has `v2.1.1` as implementation version of this report, which itself says `v2.1.0`")
)]
#[case::no_mode("| default |", "| x |", Some("has `x` as mode of this report, which itself says `default`"))]
#[case::another_file(
    "(./standard",
    "(./experimental",
    Some(
        "has no row for this report in its table: `| standard | v2.1.0 | default | [link](./standard-v2.1.0-default-report.yaml) |`"
    )
)]
#[case::in_a_folder("(./standard", "(./a/standard", Some("has no row for this report"))]
#[case::few_cells("| default | [link]", "[link]", Some("has `` as mode of this report"))]
#[case::row_in_code(
    "| standard | [v2.1.0]",
    "```\n```\n~~~\n| standard | [v2.1.0]",
    Some("has no row for this report")
)]
#[case::no_section("## Reproduce", "## More", Some("has no section `Reproduce`"))]
#[case::empty_section("## Reproduce\n", "## Reproduce\n\n## More\n", Some("says nothing under `Reproduce`"))]
fn a_readme_has_a_row_for_each_report_and_says_how_to_come_to_it(
    #[case] good: &str,
    #[case] bad: &str,
    #[case] problem: Option<&str>,
) {
    assert!(README.contains(good));
    let found = of_readme(Some(&README.replacen(good, bad, 1)));
    // An open block of code takes what follows it along.
    let told = found.first();
    assert_eq!(told.is_some(), problem.is_some(), "{found:?}");
    assert!(told.is_none_or(|told| told.contains(problem.unwrap_or_default())), "{found:?}");
    assert!(found.len() < 2 || bad.contains("~~~"), "{found:?}");
}
