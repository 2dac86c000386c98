//! Memory left by the limits of Linux control groups. The limits are read from the files of version 1 or version 2 of
//! control groups.

use std::path::Path;

/// Names of the files in which one version of Linux control groups (1 or 2) states memory limits and memory use.
struct Version {
    /// The controllers that a line of `/proc/self/cgroup` names before the path of the group.
    controllers: &'static str,
    /// Folder that contains the control groups, relative to the folder at which control groups are mounted.
    folder: &'static str,
    limit: &'static str,
    used: &'static str,
    /// Key in the file `memory.stat` for the size of file pages that the system can drop when memory runs out.
    reclaimable: &'static str,
}

const VERSIONS: [Version; 2] = [
    Version {
        controllers: "",
        folder: "",
        limit: "memory.max",
        used: "memory.current",
        reclaimable: "inactive_file",
    },
    Version {
        controllers: "memory",
        folder: "memory",
        limit: "memory.limit_in_bytes",
        used: "memory.usage_in_bytes",
        reclaimable: "total_inactive_file",
    },
];

/// Memory that the process may still use within the limits of its control group and of all parent groups, bytes; `None`
/// without a limit.
pub(super) fn left(groups: &Path, mount: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(groups).ok()?;
    let mut least = None;
    for line in text.lines() {
        // A line of `/proc/self/cgroup` has three fields: number, controllers, path of the group.
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let is_of = |version: &&Version| controllers.split(',').any(|name| name == version.controllers);
        let Some(version) = VERSIONS.iter().find(is_of) else { continue };
        let mount = mount.join(version.folder);
        // In a container that shows no other control groups, the folder at which control groups are mounted is itself
        // the control group of the process.
        let inner = Path::new(path.trim_start_matches('/'));
        for group in inner.ancestors() {
            let left = of_group(&mount.join(group), version);
            least = [least, left].into_iter().flatten().min();
        }
    }
    least
}

fn of_group(folder: &Path, version: &Version) -> Option<u64> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    // The file of a memory limit may contain the word "max" instead of a number: then the control group has no limit.
    let limit = number(version.limit)?;
    let used = number(version.used)?;
    let stat = read("memory.stat").unwrap_or_default();
    let reclaimable =
        stat.lines().find_map(|line| line.strip_prefix(version.reclaimable)?.trim().parse::<u64>().ok());
    Some(limit.saturating_sub(used.saturating_sub(reclaimable.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn the_tightest_group_of_either_version_counts() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let (groups, mount) = (at.join("cgroup"), at.join("mount"));
        assert_eq!(left(&groups, &mount), None);
        write(at, "cgroup", "0::/jobs/one\n");
        assert_eq!(left(&groups, &mount), None);
        write(at, "mount/jobs/one/memory.max", "max\n");
        write(at, "mount/jobs/one/memory.current", "700\n");
        write(at, "mount/jobs/memory.max", "1000\n");
        write(at, "mount/jobs/memory.current", "700\n");
        assert_eq!(left(&groups, &mount), Some(300));
        // Cached file contents that the system can drop count as available memory.
        write(at, "mount/jobs/memory.stat", "anon 600\ninactive_file 100\nactive_file 50\n");
        assert_eq!(left(&groups, &mount), Some(400));
        // In a container, the root of the mounted hierarchy is the control group of the container itself.
        write(at, "mount/memory.max", "900\n");
        write(at, "mount/memory.current", "950\n");
        assert_eq!(left(&groups, &mount), Some(0));
        // The following test files are those of version 1 of Linux control groups; those before are of version 2.
        write(at, "cgroup", "3:cpu,cpuacct:/a\n4:memory:/b\n");
        write(at, "mount/memory/b/memory.limit_in_bytes", "5000\n");
        write(at, "mount/memory/b/memory.usage_in_bytes", "2000\n");
        write(at, "mount/memory/b/memory.stat", "total_inactive_file 250\n");
        assert_eq!(left(&groups, &mount), Some(3250));
    }
}
