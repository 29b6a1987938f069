import { existsSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The file of this checkout, or of the installed package, whose path from its root is given without the ending. */
export const besideCommand = (path: string): URL =>
  pathToFileURL(join(packageAround(import.meta.dirname), `${path}${extname(import.meta.filename)}`));

/** The bundler moves this file; its package stays around it. */
const packageAround = (folder: string): string =>
  existsSync(join(folder, 'package.json')) ? folder : packageAround(dirname(folder));
