import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import koffi from 'koffi';
import { describe, test, vi } from 'vitest';

export interface OwnDisk {
  /** Where it is mounted. */
  folder: string;
  /** Leaves no room but about these bytes. */
  fill(leave?: number): void;
  /** Gives the room back. */
  free(): void;
  /** Acts as a power cut: unwritten data is gone, and every later write fails. The disk is mounted anew after `restore`. */
  cutPower(): void;
  /** Mounts the disk again as it was at the power cut, when the last of its processes has ended. */
  restore(): Promise<void>;
  [Symbol.dispose](): void;
}

/** _IOR('X', 125, __u32) of Linux (fs/ext4/ext4.h): the file system stops, here without writing its journal. */
const EXT4_IOC_SHUTDOWN = 0x8004587d;
const WITHOUT_JOURNAL = 2;

/** Bytes that the file system itself takes for a large file. */
const FOR_THE_FILE_SYSTEM = 1024 ** 2;

const run = (program: string, ...args: string[]) => execFileSync(program, args, { stdio: 'pipe' }).toString();

/**
 * A file system of its own in a file of this many MB, which tests fill, and cut off. Root alone may mount it.
 * @param options.files the most files that it may hold
 */
export function ownDisk(megabytes: number, { files }: { files?: number } = {}): OwnDisk {
  const base = mkdtempSync(join(tmpdir(), 'assay-disk-'));
  const [image, folder, filler] = [join(base, 'image'), join(base, 'disk'), join(base, 'disk', 'filler')];
  const mount = () => run('mount', '-o', 'loop', image, folder);
  writeFileSync(image, '');
  truncateSync(image, megabytes * 1024 ** 2);
  run('mkfs.ext4', '-q', '-m', '0', ...(files === undefined ? [] : ['-N', String(files)]), image);
  run('mkdir', folder);
  mount();
  const available = () => Number(run('df', '--output=avail', '-B1', folder).split('\n')[1]);
  return {
    folder,
    fill: (leave = 0) => run('fallocate', '-l', String(available() - leave - FOR_THE_FILE_SYSTEM), filler),
    free: () => rmSync(filler),
    cutPower() {
      const ioctl = koffi.load('libc.so.6').func('int ioctl(int fd, unsigned long request, uint32_t *flags)');
      const fd = openSync(folder, 'r');
      try {
        if (ioctl(fd, EXT4_IOC_SHUTDOWN, [WITHOUT_JOURNAL]) !== 0) throw new Error('the file system could not be shut down');
      } finally {
        closeSync(fd);
      }
    },
    async restore() {
      // Temporal's server ends a moment after the service.
      await vi.waitFor(() => run('umount', folder), { timeout: 30_000, interval: 100 });
      mount();
    },
    [Symbol.dispose]() {
      run('umount', '--lazy', folder);
      rmSync(base, { recursive: true });
    },
  };
}

function mayMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  try {
    ownDisk(8)[Symbol.dispose]();
    return true;
  } catch {
    return false;
  }
}

/** Cases that need a disk of their own. Where this user may not mount one they are skipped by name; under CI that is a failure. */
export function describeWithDisk(name: string, cases: () => void): void {
  if (mayMount()) describe(name, cases);
  else if (process.env.CI) {
    test(`${name}: a disk of its own can be mounted`, () => {
      throw new Error('CI must not skip what needs a disk of its own: run it as root, where loop devices may be mounted');
    });
  } else test.skip(`${name}: needs root, to mount a disk`, () => {});
}
