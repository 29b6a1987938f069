import { tmpdir } from 'node:os';
import { findTestTemporal } from './findTestTemporal.ts';

/** Vitest's `globalSetup`: the Temporal server's program is there before the first test. A machine that has none builds it, once, for some minutes. */
export async function setup(): Promise<void> {
  await findTestTemporal(tmpdir());
}
