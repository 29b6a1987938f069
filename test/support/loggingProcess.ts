import { Logger } from '../../client/index.ts';

// An application that logs one trace. The address of the service and the key are in its environment.
const [projectId, logStream, ending] = process.argv.slice(2) as [string, string, string];
const listeners = () => ['beforeExit', 'exit', 'SIGTERM', 'SIGINT'].map((name) => process.listenerCount(name));
const before = listeners();

const logger = new Logger({ projectId, logStream });
const made = listeners();
logger.startTrace(ending).conclude('done');

switch (ending) {
  case 'stays':
  case 'decides':
    if (ending === 'decides') process.once('SIGTERM', () => process.stdin.once('data', () => process.exit(7)));
    setInterval(() => undefined, 1_000);
    console.log('ready');
    break;
  case 'exits':
    process.exit(3);
    break;
  case 'throws':
    throw new Error('of the application');
  case 'closes': {
    const logged = listeners();
    await logger.close();
    console.log(JSON.stringify({ before, made, logged, closed: listeners() }));
  }
}
