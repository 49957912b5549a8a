//! Who wins, and what is said of a file that is wrong.
#![allow(clippy::unwrap_used)]

use super::*;

const TEXT: &str = "default_profile = \"here\"\n[profile.here]\nendpoint = \"http://h:1\"\n[profile.there]\nendpoint = \"http://t:2\"\n";

fn file() -> Result<ProfileFile, Failure> {
    ProfileFile::parse("f.toml", TEXT)
}

fn said(endpoint: Option<(&str, Source)>, profile: Option<(&str, Source)>) -> Said {
    let own = |(text, source): (&str, Source)| (text.to_owned(), source);
    Said { endpoint: endpoint.map(own), profile: profile.map(own) }
}

fn used(said: &Said) -> (String, Source) {
    let used = resolve(said, file).unwrap();
    (used.endpoint, used.endpoint_from)
}

#[test]
fn flag_then_variable_then_profile_then_default() {
    use Source::{Default, Flag, Profile, Variable};
    let (e, there) = ("http://e:3", "there");
    for (said, endpoint, source) in [
        (said(Some((e, Flag)), Some((there, Flag))), e, Flag),
        (said(Some((e, Flag)), Some((there, Variable))), e, Flag),
        (said(Some((e, Variable)), Some((there, Flag))), "http://t:2", Profile),
        (said(Some((e, Variable)), Some((there, Variable))), e, Variable),
        (said(None, Some((there, Variable))), "http://t:2", Profile),
        (said(None, None), "http://h:1", Profile),
    ] {
        assert_eq!(used(&said), (endpoint.to_owned(), source), "{said:?}");
    }
    let none = resolve(&Said::default(), || Ok(ProfileFile::default())).unwrap();
    assert_eq!((none.endpoint.as_str(), none.endpoint_from), (DEFAULT_ENDPOINT, Default));
}

#[test]
fn an_address_that_was_given_needs_no_file() {
    let broken = || Err(Failure::profile("broken"));
    assert!(resolve(&said(Some(("http://e:3", Source::Variable)), None), broken).is_ok());
    assert!(resolve(&Said::default(), broken).is_err());
}

fn refused<T>(result: Result<T, Failure>) -> String {
    match result {
        Err(failure) => format!("{failure:?}"),
        Ok(_) => panic!("it was taken"),
    }
}

#[test]
fn errors_name_the_file_and_what_there_is() {
    let text = refused(ProfileFile::parse("f.toml", "[profile.a]\nendpoint = \"x\"\nendpiont = \"y\"\n"));
    assert!(text.contains("f.toml line 3: unknown field `endpiont`, expected `endpoint`"), "{text}");
    let text = refused(ProfileFile::parse("f.toml", "profiles = 1\n"));
    assert!(text.contains("f.toml line 1: unknown field `profiles`"), "{text}");
    let text =
        refused(ProfileFile::parse("f.toml", "default_profile = \"x\"\n[profile.a]\nendpoint = \"x\"\n"));
    assert!(text.contains("no profile \\\"x\\\" in f.toml: it has a; default_profile names it"), "{text}");
    let text = refused(resolve(&said(None, Some(("x", Source::Flag))), file));
    assert!(text.contains("it has here, there"), "{text}");
    let absent = || Ok(ProfileFile { path: "f.toml".to_owned(), ..ProfileFile::default() });
    let text = refused(resolve(&said(None, Some(("x", Source::Flag))), absent));
    assert!(text.contains("f.toml does not exist"), "{text}");
}
