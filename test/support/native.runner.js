/**
 * Runs a suite with jest-circus, but lets Node load its modules. The suites of a worker share all modules except the suites themselves.
 * The loader of Jest creates a virtual machine with new modules for each suite: that takes about three seconds if the suite starts the
 * application, makes the code slower, and uses memory until the worker ends.
 */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import circus from 'jest-circus/runner';
import './typescript.hooks.js';

const require = createRequire(import.meta.url);

export default async function run(globalConfig, config, environment, runtime, ...rest) {
  const {
    console,
    process: { env },
  } = globalThis;
  globalThis.console = environment.global.console;
  process.env = { ...env };
  Error.prepareStackTrace = undefined; // Node maps the positions itself
  try {
    const native = { global: globalThis, handleTestEvent: environment.handleTestEvent?.bind(environment) };
    return await circus.default(globalConfig, config, native, Object.assign(runtime, loader), ...rest);
  } finally {
    process.env = env;
    globalThis.console = console;
  }
}

/** Replaces the methods with which Jest loads modules. */
const loader = {
  requireModule: require,
  /** Loads a module of jest-circus. These modules contain the tests of a suite, so each suite needs a new copy of them. */
  requireInternalModule(path) {
    delete globalThis[Symbol.for('EVENT_HANDLERS')];
    delete require.cache[path];
    return require(path);
  },
  unstable_shouldLoadAsEsm: () => true,
  unstable_importModule: async (path) => await import(pathToFileURL(path).href),
};
