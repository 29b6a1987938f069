#!/usr/bin/env node
// Plain JavaScript for any Node.js: the package of the service and a checkout bring along the one that they need, the package of the command does not.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

/** The file in a checkout, or what a package has of it. */
function compiledOrSource(path) {
  const [source, compiled] = ['ts', 'js'].map((ending) => new URL(`../${path}.${ending}`, import.meta.url));
  return existsSync(source) ? source : compiled;
}

const command = compiledOrSource('cli/main');
/** Older ones do not know `import.meta.main`, which the service uses, or do not run an experiment file in TypeScript. */
const bringsService = existsSync(compiledOrSource('start'));
const NEEDED = bringsService ? [24, 2] : [22, 18];

function packagedNode() {
  const { platform, arch } = process;
  for (const name of [`node-${platform}-${arch}`, `node-bin-${platform}-${arch}`, 'node']) {
    try {
      return join(createRequire(import.meta.url).resolve(`${name}/package.json`), '../bin/node');
    } catch {
      // not of this platform
    }
  }
  return undefined;
}

function runWith(program) {
  const child = spawn(program, [fileURLToPath(command), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  // A terminal signals the whole group, and `kill` this process alone: the count lets the other one know them for the same.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    let count = 0;
    process.on(signal, () => {
      count++;
      if (child.connected) child.send({ signal, count }, () => undefined);
    });
  }
  child.once('error', (error) => fail(`${program} cannot be started: ${error.message}`));
  child.once('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : (code ?? 1)));
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

const [major, minor] = process.versions.node.split('.').map(Number);
if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) await import(command.href);
else {
  const program = packagedNode();
  if (program) runWith(program);
  else
    fail(
      `assay needs Node.js ${NEEDED.join('.')} or newer, and this is ${process.version}: install a newer one${bringsService ? ', or assay again without --omit=optional' : ''}`,
    );
}
