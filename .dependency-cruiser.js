/** The dependency rules of ARCHITECTURE.md. A test breaks each rule on purpose and expects dependency-cruiser to report it. */
const to = (path) => ({ path, pathNot: '^node_modules' });

export default {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'platform-is-a-leaf',
      comment: 'libs/platform holds Postgres access, events and background work, and depends on no other library.',
      severity: 'error',
      from: { path: '^libs/platform/' },
      to: to('^(libs/(?!platform/|test-support/)|apps/)'),
    },
    {
      name: 'registry-depends-on-platform-only',
      comment: 'libs/registry depends on libs/platform, and not on providers, the runtime or apps.',
      severity: 'error',
      from: { path: '^libs/registry/' },
      to: to('^(libs/(?!registry/|platform/|test-support/)|apps/)'),
    },
    {
      name: 'providers-is-a-leaf',
      comment: 'libs/providers depends on no other library and not on apps.',
      severity: 'error',
      from: { path: '^libs/providers/' },
      to: to('^(libs/(?!providers/|test-support/)|apps/)'),
    },
    {
      name: 'client-is-a-leaf',
      comment:
        'libs/client runs in browsers and in the programs of users. It depends on no other library, no package and no module of Node.',
      severity: 'error',
      from: { path: '^libs/client/', pathNot: '\\.spec\\.ts$' },
      to: { pathNot: '^libs/client/' },
    },
    {
      name: 'server-does-not-know-its-client',
      severity: 'error',
      from: { path: '^(apps/api|libs/(?!client/))' },
      to: { path: '^libs/client/' },
    },
    {
      name: 'command-line-uses-the-client',
      comment: 'apps/cli is a user of the API: it depends on libs/client and on no other library or app.',
      severity: 'error',
      from: { path: '^apps/cli/', pathNot: '\\.spec\\.ts$' },
      to: to('^(libs/(?!client/)|apps/(?!cli/))'),
    },
    {
      name: 'server-does-not-know-the-command-line',
      severity: 'error',
      from: { path: '^(apps/api|libs)/' },
      to: { path: '^apps/cli/' },
    },
    {
      name: 'test-helpers-are-a-leaf',
      comment:
        'libs/test-support holds test helpers that know no other library, so that the tests of every library can use them.',
      severity: 'error',
      from: { path: '^libs/test-support/' },
      to: to('^(libs/(?!test-support/)|apps/)'),
    },
    {
      name: 'runtime-does-not-know-the-edge',
      severity: 'error',
      from: { path: '^libs/agent-runtime/' },
      to: to('^apps/'),
    },
    {
      name: 'libraries-are-imported-through-their-entry-points',
      comment: 'Code outside a library imports it only through #rollcall/<lib> or #rollcall/<lib>/testing.',
      severity: 'error',
      from: { path: '^(apps|libs/([^/]+)|test|bench)/' },
      to: { path: '^libs/([^/]+)/src/', pathNot: ['^libs/$2/', '^libs/[^/]+/src/(testing/)?index\\.ts$'] },
    },
    {
      name: 'testing-stays-in-tests',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: ['\\.spec\\.ts$', '/testing/', '^libs/test-support/'] },
      to: { path: '(/testing/|^libs/test-support/|^test/)' },
    },
    {
      name: 'libs-know-no-http',
      severity: 'error',
      from: { path: '^libs/(platform|registry|agent-runtime)/' },
      to: { path: 'node_modules/(@nestjs/(platform-|websockets|swagger|terminus)|fastify|@fastify/|ws/)' },
    },
    {
      name: 'providers-know-no-database',
      severity: 'error',
      from: { path: '^libs/providers/' },
      to: { path: 'node_modules/(typeorm|pg|pg-pool)/' },
    },
    {
      name: 'only-declared-packages',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: '(\\.spec\\.ts$|/testing/)' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    { name: 'nothing-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(bench/peers|apps/console)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      conditionNames: ['rollcall-source', 'import', 'node', 'default', 'types'],
      exportsFields: ['exports'],
      extensions: ['.ts', '.js', '.json'],
    },
  },
};
