import { registerHooks } from 'node:module';
import { besideCommand } from '../terminal/besideCommand.ts';

/** The names under which the packages of the client, of the command and of the service offer the client. */
const CLIENT = /^(?:@assay\/client|@assay\/cli\/client|assay\/client)(?:\/(\w+))?$/;

/**
 * Lets an experiment file import the client where no package of it is installed: it gets that of the command. Where one is installed, that is taken.
 * Both share their state, so that what the file logs belongs to the row that runs.
 */
export function lendClient(): void {
  registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context);
      } catch (err) {
        const [matched, entry = 'index'] = CLIENT.exec(specifier) ?? [];
        if (!matched || (err as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw err;
        return next(besideCommand(`client/${entry}`).href, context);
      }
    },
  });
}
