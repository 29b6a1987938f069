import { extname } from 'node:path';

/**
 * The file of this checkout, or of the installed package, whose path from its root is given without the ending. This file is one folder deep in
 * all of them, also where the bundler moves it.
 */
export const besideCommand = (path: string): URL => new URL(`../${path}${extname(import.meta.filename)}`, import.meta.url);
