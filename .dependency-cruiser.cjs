/**
 * Which folder may import which (the table of the architecture page, as rules), and no cycles.
 * The check distinguishes type-only imports from others, which needs TypeScript below 7.
 */
const entries = '^(start\\.ts|demo/|bench/|tools/|test/|[^/]+\\.config\\.ts|(api|cli|workers)/main\\.ts$)';
const drivers = ['@clickhouse/client', 'chdb', '@electric-sql/pglite', 'pg', 'ioredis'];
const packages = (names) => `(^|node_modules/)(${names.join('|')})(/|$)`;
/** Everything of ours, but for the given folders. */
const oursExcept = (...folders) =>
  `^(?!${folders.map((folder) => `${folder}/`).join('|')})(api|cli|client|console|demo|bench|shared|test|workers|workflows)/`;

/** Folders of shared/ that all others may use. */
const foundations = [
  ...['childProcesses', 'concurrency', 'config', 'csv', 'disk', 'errors', 'figures', 'filterText', 'identifiers', 'json'],
  ...['maintenance', 'processMemory', 'statistics', 'telemetry'],
].join('|');

const rule = (name, comment, from, to) => ({ name, severity: 'error', comment, from, to });
const atRunTime = { dependencyTypesNot: ['type-only'] };

module.exports = {
  forbidden: [
    rule(
      'no-cycles',
      'Files that import each other cannot be understood or moved one at a time.',
      {},
      { circular: true, ...viaRunTimeOnly() },
    ),
    {
      ...rule(
        'no-circles-of-folders',
        'Types count here: a folder can be read, and changed, with those below it alone.',
        { path: '^(api|cli|client|shared|workers|workflows)(/|$)' },
        { circular: true },
      ),
      scope: 'folder',
    },
    rule(
      'roots-put-together',
      'Files at the root join what is in the folders: a folder that imported them would be in a circle with all others.',
      { path: '^(api|cli)/[^/]+/' },
      { path: '^$1/[^/]+\\.ts$' },
    ),
    rule(
      'client-is-a-tree',
      'Types count here: whoever reads one file of the client has not to read them all.',
      { path: '^client/' },
      { circular: true, path: '^client/' },
    ),
    rule(
      'records-know-no-annotations',
      'Annotations are about records. What records show of them is a port, shared/records/annotationReads.ts.',
      { path: '^shared/records/' },
      { path: '^shared/annotations/' },
    ),
    rule('resolvable', 'An import must lead somewhere.', {}, { couldNotResolve: true }),
    rule('no-undeclared-package', 'A package must be in package.json.', {}, { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] }),
    rule(
      'no-dev-package-in-the-service',
      'The image is installed without development packages.',
      { path: '^(api|cli|client|shared|workers|workflows)/|^start\\.ts$' },
      { dependencyTypes: ['npm-dev'], ...atRunTime },
    ),

    rule(
      'wire-stands-alone',
      'shared/wire is zod and nothing of ours: what a client or a web page may import.',
      { path: '^shared/wire/' },
      { path: oursExcept('shared/wire') },
    ),
    rule(
      'columns-stand-on-the-wire',
      'The fields of records are made of its schemas.',
      { path: '^shared/columns/' },
      { path: oursExcept('shared/wire', 'shared/columns') },
    ),
    rule(
      'record-schemas-stand-on-columns',
      'The schemas of whole records follow from their fields.',
      { path: '^shared/recordSchemas/' },
      { path: oursExcept('shared/wire', 'shared/columns', 'shared/recordSchemas') },
    ),
    rule(
      'schemas-only-zod',
      'No package but zod, and nothing of Node.',
      { path: '^shared/(wire|columns|recordSchemas)/' },
      { dependencyTypes: ['core', 'npm', 'npm-dev'], pathNot: packages(['zod']) },
    ),

    rule(
      'domain-knows-no-outside',
      'shared/<thing> declares ports; stores, the api and workers come to it, never the other way. assemble.ts is where they are joined.',
      { path: '^shared/(?!stores/|assemble\\.ts$)' },
      { path: '^(api|cli|client|workers|workflows|shared/stores)/' },
    ),
    rule(
      'domain-knows-no-driver',
      'Drivers, SQL, express and Temporal stay out of the rules.',
      { path: '^shared/(?!stores/)' },
      { path: packages([...drivers, 'express', '@temporalio/[^/]+']) },
    ),
    rule(
      'drivers-live-in-stores',
      'One place talks to each store.',
      { path: '^(api|cli|client|workers|workflows)/' },
      { path: packages(drivers) },
    ),
    rule(
      'stores-know-no-api',
      'A store fulfils ports and knows none of its callers.',
      { path: '^shared/stores/' },
      { path: `^(api|cli|client|workers|workflows)/|${packages(['express'])}` },
    ),
    rule(
      'stores-know-no-other-store',
      'Each store stands alone: what joins them is shared/assemble.ts.',
      { path: '^shared/stores/([^/]+)/' },
      { path: '^shared/stores/', pathNot: '^shared/stores/$1/' },
    ),

    rule(
      'tables-know-no-statement',
      'What is stored stands below what is asked and written.',
      { path: '^shared/stores/clickhouse/tables/' },
      { path: '^shared/stores/clickhouse/(embedded|filters|reads|server|writes)/' },
    ),
    rule(
      'filters-know-no-statement',
      'A condition is the same in every statement.',
      { path: '^shared/stores/clickhouse/filters/' },
      { path: '^shared/stores/clickhouse/(embedded|reads|server|writes)/' },
    ),
    rule(
      'reads-know-no-engine',
      'They are the same in the process and over HTTP.',
      { path: '^shared/stores/clickhouse/reads/' },
      { path: '^shared/stores/clickhouse/(embedded|server)/' },
    ),
    rule(
      'chdb-is-embedded',
      'One folder knows that the engine may be in the process.',
      { path: '^shared/stores/clickhouse/(?!embedded/)' },
      { path: packages(['chdb']) },
    ),

    rule(
      'foundations-know-no-subject',
      'The folders that all others stand on import each other and the wire alone, types included, so that no circle runs through them.',
      { path: `^shared/(${foundations})/` },
      { path: '^shared/', pathNot: `^shared/(${foundations}|wire)/` },
    ),
    rule(
      'accounts-know-no-project',
      'A caller is known before what it works in. What accounts ask of projects is a port of theirs.',
      { path: '^shared/accounts/' },
      { path: '^shared/', pathNot: `^shared/(accounts|${foundations}|wire)/` },
    ),
    rule(
      'projects-and-assets-know-no-content',
      'Access to a project or a shared thing is decided without knowing what is in it.',
      { path: '^shared/(projects|assets)/' },
      { path: '^shared/', pathNot: `^shared/(accounts|projects|assets|${foundations}|wire)/` },
    ),
    rule(
      'experiments-know-no-verdict',
      'Comparisons and gates are about experiments that have run.',
      { path: '^shared/(experiments|scorers|scoring|metrics|records)/' },
      { path: '^shared/(comparison|gate|agreement)/' },
    ),
    rule(
      'providers-know-no-price',
      'The prices of calls are a port of the caller of models.',
      { path: '^shared/(providers|integrations|modelCalls)/' },
      { path: '^shared/prices/' },
    ),
    rule(
      'providers-know-no-integration',
      'How a provider is spoken to does not depend on what is stored. Integrations keep its settings, and model calls go through them.',
      { path: '^shared/(providers|outbound)/' },
      { path: '^shared/(integrations|modelCalls)/' },
    ),
    rule(
      'integrations-know-no-call',
      'What is stored is read by whoever calls a model.',
      { path: '^shared/integrations/' },
      { path: '^shared/modelCalls/' },
    ),

    rule(
      'metrics-know-no-provider',
      'A metric gets `complete` handed in.',
      { path: '^shared/metrics/' },
      { path: '^shared/(providers|integrations|modelCalls|stores)/' },
    ),
    rule(
      'providers-know-no-metric',
      'A provider is used by any caller.',
      { path: '^shared/(providers|integrations|modelCalls)/' },
      { path: '^shared/(metrics|stores)/' },
    ),

    rule(
      'workflows-are-deterministic',
      'Workflow code imports only the Temporal workflow SDK and files that import nothing else; types may come from shared and workers.',
      { path: '^workflows/' },
      { path: oursExcept('workflows', 'shared/experiments'), pathNot: '^shared/config/taskQueues\\.ts$', ...atRunTime },
    ),
    rule(
      'workflows-use-no-package',
      'Any other package could read a clock or the network.',
      { path: '^workflows/' },
      { dependencyTypes: ['core', 'npm', 'npm-dev'], pathNot: packages(['@temporalio/workflow', '@temporalio/common']) },
    ),

    rule('workers-know-no-api', 'Workers serve no HTTP.', { path: '^workers/' }, { path: `^api/|${packages(['express'])}` }),
    rule(
      'client-only-in-runners',
      'A registered runner module logs through the client, so its host must share the client with it; no other worker code may.',
      { path: '^workers/(?!runners/)' },
      { path: '^client/' },
    ),
    rule(
      'workflows-run-in-their-sandbox',
      'Workers load workflow code as a bundle, by path; only its types may be named.',
      { path: '^workers/' },
      { path: '^workflows/', ...atRunTime },
    ),
    rule(
      'api-runs-no-work',
      'The API starts work through Temporal; only types of workers and workflows may be named.',
      { path: '^api/' },
      { path: '^(workers|workflows)/', ...atRunTime },
    ),
    rule(
      'routes-know-no-other-route',
      'What several routes share lives beside them: api/records/ for requests of records, api/views/ for how things are answered.',
      { path: '^api/routes/' },
      { path: '^api/routes/' },
    ),
    rule(
      'client-is-alone',
      'The published client knows the interface, shared/wire and shared/recordSchemas, and nothing else of the service.',
      { path: '^client/' },
      { path: oursExcept('client', 'shared/wire', 'shared/recordSchemas') },
    ),
    rule(
      'client-takes-types-only',
      'zod stays out of the published client. The readings of Retry-After, of scores and of long numbers import none.',
      { path: '^client/' },
      { path: '^shared/', pathNot: '^shared/wire/(retryAfter|readScores|systemCounts|longNumbers)\\.ts$', ...atRunTime },
    ),
    rule(
      'client-needs-no-node',
      'Browsers and edge runtimes load it. The one module of Node is chosen by a condition of the package.',
      { path: '^client/', pathNot: '^client/asyncStorage\\.ts$' },
      { dependencyTypes: ['core'], ...atRunTime },
    ),
    rule(
      'client-has-no-package',
      'The client needs `fetch` alone; its command line may use Node.',
      { path: '^client/' },
      { dependencyTypes: ['npm', 'npm-dev'], ...atRunTime },
    ),
    rule(
      'command-is-a-caller',
      'The command line does what any caller may: it stands on the client library, and knows no store and no route. Pure functions of text may serve both.',
      { path: '^cli/' },
      {
        path: oursExcept('cli', 'client', 'shared/wire'),
        pathNot:
          '^shared/(config/version\\.ts$|csv/|figures/|filterText/|json/parseJson\\.ts$|identifiers/closestNames\\.ts$|identifiers/editDistance\\.ts$|records/failed\\.ts$)',
      },
    ),
    rule(
      'command-takes-wire-types-only',
      'Reading the schemas of the interface would cost each command a tenth of a second.',
      { path: '^cli/' },
      { path: '^shared/wire/', pathNot: '^shared/wire/(longNumbers|exactNumber)\\.ts$', ...atRunTime },
    ),
    rule(
      'console-is-a-caller',
      'The console does what any program may: it stands on the client library and the language of filters, and knows no store and no route.',
      { path: '^console/' },
      {
        path: oursExcept('client', 'console', 'shared/wire', 'shared/figures', 'shared/filterText', 'shared/datasetFiles'),
        pathNot: '^shared/(records/failed|csv/detectDelimiter)\\.ts$',
      },
    ),
    rule(
      'console-takes-wire-types-only',
      'The schemas of the interface would be half of what a browser loads.',
      { path: '^console/' },
      { path: '^shared/wire/', pathNot: '^shared/wire/(longNumbers|jsonPieces|judgePlaceholders)\\.ts$', ...atRunTime },
    ),
    rule(
      'nothing-imports-the-console',
      'It is where things begin; tests take what needs no browser.',
      { pathNot: '^(console|test)/' },
      { path: '^console/' },
    ),
    rule(
      'unit-tests-open-nothing',
      'They take seconds, since no import leads to the driver of a store, to a service or to a browser.',
      { path: '^test/unit/' },
      {
        path: `${packages([...drivers, 'playwright-core'])}|^shared/stores/[^/]+/connect\\.ts$|^(start|(api|workers)/main)\\.ts$`,
        reachable: true,
      },
    ),
    rule('nothing-imports-the-command', 'It is where things begin.', { pathNot: '^(cli|test|demo|bench)/' }, { path: '^cli/' }),
    rule(
      'nothing-imports-entries',
      'start.ts, main.ts, tests and benchmarks are where things begin.',
      { pathNot: entries },
      { path: entries },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // The programs of bench/sdks run beside packages that are installed elsewhere.
    exclude: { path: '^(node_modules|coverage|api/swaggerUi|bench/sdks/programs)/' },
    tsPreCompilationDeps: true,
    detectProcessBuiltinModuleCalls: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};

/** A cycle made of types alone does no harm when it runs, and a port and its caller may name each other's types. */
function viaRunTimeOnly() {
  return { viaOnly: { dependencyTypesNot: ['type-only'] } };
}
