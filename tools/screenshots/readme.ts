import { execFile } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CHROMIUM, consoleBrowser } from '../../test/support/consoleBrowser.ts';
import { serviceFolder } from '../../test/support/serviceProcess.ts';

/** `npm run screenshots:readme`: runs the demo and makes the pictures of the README of what it leads to: the comparison of its two experiments. */

const ROOT = join(import.meta.dirname, '../..');
/** Most bytes of a picture: the README is read over slow lines, too. */
const MOST_BYTES = 150_000;

const folder = await mkdtemp(join(tmpdir(), 'assay-readme-'));
try {
  const { stdout } = await promisify(execFile)('env', [`DATA_DIR=${folder}`, 'npm', 'run', 'demo'], { cwd: ROOT });
  const [, place] = /^ +comparison +\S+(\/console\/p\/\S+)$/m.exec(stdout) ?? [];
  if (place === undefined) throw new Error(`the demo names no comparison:\n${stdout}`);
  const { api_key: key } = JSON.parse(readFileSync(join(folder, 'credentials.json'), 'utf8')) as { api_key: string };
  const service = await (await serviceFolder(folder, { ADMIN_API_KEY: key }, { empty: true })).start();
  try {
    await using pages = await consoleBrowser(CHROMIUM, service.url);
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await pages.signedIn(
        { key },
        { viewport: { width: 1_200, height: 800 }, colorScheme, reducedMotion: 'reduce' },
      );
      await page.goto(service.url + place, { waitUntil: 'networkidle' });
      await page.getByRole('article', { name: 'Row' }).waitFor();
      const path = join(ROOT, `docs/pictures/comparison-${colorScheme}.png`);
      await page.getByRole('heading', { level: 1 }).click(); // nothing is under the pointer
      await page.screenshot({ path });
      const { size } = statSync(path);
      if (size > MOST_BYTES) throw new Error(`${path} has ${size} bytes, more than ${MOST_BYTES}`);
      console.log(`${path} has ${size} bytes`);
    }
  } finally {
    await service.kill('SIGTERM');
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
