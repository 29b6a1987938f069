import { spawnSync } from 'node:child_process';

/** Makes a named pipe: who opens one end waits for somebody at the other. */
export function namedPipe(path: string): string {
  const { status, stderr } = spawnSync('mkfifo', [path], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`no pipe at ${path}: ${stderr}`);
  return path;
}
