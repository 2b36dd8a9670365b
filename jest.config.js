import { availableParallelism } from 'node:os';

/** Three rings by suffix: `*.spec.ts` alone, `*.db.spec.ts` on Postgres, `test/**\/*.e2e-spec.ts` the whole application. */
export default {
  testEnvironment: 'node',
  testRunner: '<rootDir>/test/support/native.runner.js',
  testSequencer: '<rootDir>/test/support/process-first.sequencer.js',
  roots: ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/test'],
  testRegex: '\\.(spec|e2e-spec)\\.ts$',
  transform: {},
  globalSetup: '<rootDir>/test/support/global-setup.js',
  globalTeardown: '<rootDir>/test/support/global-teardown.js',
  reporters: ['default', '<rootDir>/test/support/progress.reporter.js'],
  testTimeout: 120_000,
  maxWorkers: Math.max(2, availableParallelism() - 1),
  // Modules of finished suites stay in memory. Without a limit, a worker grows to several GB and mostly collects garbage.
  workerIdleMemoryLimit: '2GB',
};
