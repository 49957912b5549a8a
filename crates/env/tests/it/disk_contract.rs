//! What every disk does.

use bytes::Bytes;
use kelda_env::{Disk, DiskError, OpenMode};

use crate::contract::{World, contract};

contract!(
    creates_only_what_is_not_there,
    needs_the_directory,
    writes_buffers_in_order,
    writes_more_buffers_than_one_call_takes,
    overwrites_and_leaves_gaps_as_zeros,
    reads_less_only_at_the_end,
    preallocates_zeros,
    makes_directories,
    lists_what_is_directly_there,
    removes_files,
    removes_only_empty_directories,
    an_open_file_outlives_its_name,
    renames_and_replaces,
    links,
    locks_once,
    cuts_and_lengthens_with_zeros,
    refuses_paths_that_leave_the_root,
    opens_only_what_is_there,
    reading_handles_do_not_write,
    syncs,
    knows_its_space,
);

async fn put(disk: &dyn Disk, path: &str, text: &'static str) {
    let file = disk.create(path).await.unwrap();
    file.write_at(&[Bytes::from_static(text.as_bytes())], 0).await.unwrap();
}

async fn creates_only_what_is_not_there(World { env, .. }: World) {
    put(&*env.disk, "a", "one").await;
    let again = env.disk.create("a").await.err().unwrap();
    assert!(matches!(again, DiskError::Exists { .. }), "{again}");
    let again = env.disk.create_preallocated("a", 10).await.err().unwrap();
    assert!(matches!(again, DiskError::Exists { .. }), "{again}");
    assert_eq!(env.disk.read("a").await.unwrap(), "one");
    assert!(env.disk.exists("a").await.unwrap());
    assert!(!env.disk.exists("b").await.unwrap());
}

async fn needs_the_directory(World { env, .. }: World) {
    let error = env.disk.create("dir/a").await.err().unwrap();
    assert!(error.is_not_found(), "{error}");
    assert_eq!(error.path(), "dir/a");
}

async fn writes_buffers_in_order(World { env, .. }: World) {
    let file = env.disk.create("a").await.unwrap();
    let parts = ["ab", "", "c", "", "defg"].map(|part| Bytes::from_static(part.as_bytes()));
    file.write_at(&parts, 3).await.unwrap();
    assert_eq!(file.read_at(3, 7).await.unwrap(), "abcdefg");
    assert_eq!(file.len().await.unwrap(), 10);
    file.write_at(&[], 3).await.unwrap();
    file.write_at(&[Bytes::new()], 100).await.unwrap();
    assert_eq!(env.disk.len("a").await.unwrap(), 10);
}

async fn writes_more_buffers_than_one_call_takes(World { env, .. }: World) {
    let file = env.disk.create("a").await.unwrap();
    let parts: Vec<Bytes> = (0..5000_u32).map(|n| Bytes::copy_from_slice(&n.to_le_bytes())).collect();
    file.write_at(&parts, 0).await.unwrap();
    assert_eq!(file.len().await.unwrap(), 20_000);
    assert_eq!(file.read_at(0, 20_000).await.unwrap(), parts.concat());
}

async fn overwrites_and_leaves_gaps_as_zeros(World { env, .. }: World) {
    let file = env.disk.create("a").await.unwrap();
    file.write_at(&[Bytes::from_static(b"xxxx")], 10_000).await.unwrap();
    file.write_at(&[Bytes::from_static(b"yy")], 10_001).await.unwrap();
    assert_eq!(file.read_at(10_000, 4).await.unwrap(), "xyyx");
    assert!(file.read_at(0, 10_000).await.unwrap().iter().all(|byte| *byte == 0));
}

async fn reads_less_only_at_the_end(World { env, .. }: World) {
    put(&*env.disk, "a", "0123456789").await;
    let file = env.disk.open("a", OpenMode::Read).await.unwrap();
    assert_eq!(file.read_at(8, 100).await.unwrap(), "89");
    assert_eq!(file.read_at(10, 1).await.unwrap(), "");
    assert_eq!(file.read_at(1000, 1).await.unwrap(), "");
    assert_eq!(file.read_at(0, 0).await.unwrap(), "");
}

async fn preallocates_zeros(World { env, .. }: World) {
    let file = env.disk.create_preallocated("a", 100_000).await.unwrap();
    assert_eq!(file.len().await.unwrap(), 100_000);
    assert!(file.read_at(0, 100_000).await.unwrap().iter().all(|byte| *byte == 0));
    file.write_at(&[Bytes::from_static(b"end")], 99_997).await.unwrap();
    assert_eq!(file.len().await.unwrap(), 100_000);
    assert_eq!(env.disk.create_preallocated("b", 0).await.unwrap().len().await.unwrap(), 0);
}

async fn makes_directories(World { env, .. }: World) {
    env.disk.create_dir_all("x/y/z").await.unwrap();
    env.disk.create_dir_all("x/y/z").await.unwrap();
    env.disk.create_dir_all("x/w").await.unwrap();
    put(&*env.disk, "x/y/z/a", "one").await;
    assert!(env.disk.exists("x/y").await.unwrap());
    let error = env.disk.create_dir_all("x/y/z/a/b").await.unwrap_err();
    assert!(matches!(error, DiskError::Other { .. }), "{error}");
}

async fn lists_what_is_directly_there(World { env, .. }: World) {
    env.disk.create_dir_all("d/sub").await.unwrap();
    for name in ["d/10", "d/9", "d-", "d/sub/inner"] {
        put(&*env.disk, name, "").await;
    }
    assert_eq!(env.disk.read_dir("d").await.unwrap(), ["10", "9", "sub"]);
    assert_eq!(env.disk.read_dir("").await.unwrap(), ["d", "d-"]);
    assert!(env.disk.read_dir("e").await.unwrap_err().is_not_found());
}

async fn removes_files(World { env, .. }: World) {
    put(&*env.disk, "a", "one").await;
    env.disk.remove("a").await.unwrap();
    assert!(env.disk.remove("a").await.unwrap_err().is_not_found());
    put(&*env.disk, "a", "two").await;
    assert_eq!(env.disk.read("a").await.unwrap(), "two");
}

async fn removes_only_empty_directories(World { env, .. }: World) {
    env.disk.create_dir_all("d").await.unwrap();
    put(&*env.disk, "d/a", "").await;
    let error = env.disk.remove_dir("d").await.unwrap_err();
    assert!(matches!(error, DiskError::Other { .. }), "{error}");
    env.disk.remove("d/a").await.unwrap();
    env.disk.remove_dir("d").await.unwrap();
    assert!(env.disk.remove_dir("d").await.unwrap_err().is_not_found());
}

async fn an_open_file_outlives_its_name(World { env, .. }: World) {
    put(&*env.disk, "a", "one").await;
    let file = env.disk.open("a", OpenMode::Read).await.unwrap();
    env.disk.remove("a").await.unwrap();
    env.disk.sync_dir("").await.unwrap();
    assert_eq!(file.read_at(0, 10).await.unwrap(), "one");
}

async fn renames_and_replaces(World { env, .. }: World) {
    env.disk.create_dir_all("d").await.unwrap();
    put(&*env.disk, "a", "one").await;
    put(&*env.disk, "d/b", "two").await;
    env.disk.rename("a", "d/b").await.unwrap();
    assert_eq!(env.disk.read("d/b").await.unwrap(), "one");
    assert!(!env.disk.exists("a").await.unwrap());
    assert!(env.disk.rename("a", "c").await.unwrap_err().is_not_found());
    assert!(env.disk.rename("d/b", "e/b").await.unwrap_err().is_not_found());
}

async fn links(World { env, .. }: World) {
    put(&*env.disk, "a", "one").await;
    env.disk.link("a", "b").await.unwrap();
    let error = env.disk.link("a", "b").await.unwrap_err();
    assert!(matches!(error, DiskError::Exists { .. }), "{error}");
    assert!(env.disk.link("c", "d").await.unwrap_err().is_not_found());
    env.disk.remove("a").await.unwrap();
    assert_eq!(env.disk.read("b").await.unwrap(), "one");
}

async fn locks_once(World { env, .. }: World) {
    let guard = env.disk.lock("lock").await.unwrap();
    let error = env.disk.lock("lock").await.err().unwrap();
    assert!(matches!(error, DiskError::Locked { .. }), "{error}");
    drop(guard);
    env.disk.lock("lock").await.unwrap();
}

async fn cuts_and_lengthens_with_zeros(World { env, .. }: World) {
    let file = env.disk.create("a").await.unwrap();
    file.write_at(&[Bytes::from(vec![b'x'; 10_000])], 0).await.unwrap();
    file.set_len(5000).await.unwrap();
    file.set_len(9000).await.unwrap();
    let bytes = file.read_at(0, 20_000).await.unwrap();
    assert_eq!(bytes.len(), 9000);
    assert!(bytes[..5000].iter().all(|byte| *byte == b'x'));
    assert!(bytes[5000..].iter().all(|byte| *byte == 0));
}

async fn refuses_paths_that_leave_the_root(World { env, .. }: World) {
    for path in ["/a", "../a", "d/../../a", "a//b", "a/", "./a"] {
        let error = env.disk.create(path).await.err().unwrap();
        assert!(matches!(error, DiskError::Other { .. }), "{path}: {error}");
    }
    put(&*env.disk, "a", "").await;
    assert!(env.disk.rename("a", "../b").await.is_err());
    assert!(env.disk.link("a", "/b").await.is_err());
}

async fn opens_only_what_is_there(World { env, .. }: World) {
    for mode in [OpenMode::Read, OpenMode::ReadWrite] {
        assert!(env.disk.open("a", mode).await.err().unwrap().is_not_found());
    }
    assert!(env.disk.len("a").await.unwrap_err().is_not_found());
    assert!(env.disk.read("a").await.unwrap_err().is_not_found());
}

async fn reading_handles_do_not_write(World { env, .. }: World) {
    put(&*env.disk, "a", "one").await;
    let file = env.disk.open("a", OpenMode::Read).await.unwrap();
    assert!(file.write_at(&[Bytes::from_static(b"two")], 0).await.is_err());
    assert!(file.set_len(0).await.is_err());
    assert_eq!(file.read_at(0, 10).await.unwrap(), "one");
}

async fn syncs(World { env, .. }: World) {
    env.disk.create_dir_all("d").await.unwrap();
    let file = env.disk.create("d/a").await.unwrap();
    for round in 0..3 {
        file.write_at(&[Bytes::from_static(b"one")], round * 3).await.unwrap();
        file.sync_data().await.unwrap();
    }
    env.disk.sync_dir("d").await.unwrap();
    env.disk.sync_dir("").await.unwrap();
    assert!(env.disk.sync_dir("e").await.unwrap_err().is_not_found());
}

async fn knows_its_space(World { env, .. }: World) {
    let space = env.disk.space().await.unwrap();
    assert!(space.free > 0 && space.free <= space.total, "{space:?}");
}
