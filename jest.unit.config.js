import base from './jest.config.js';

const { globalSetup: _, globalTeardown: __, ...rest } = base;

/** The first ring only: specs that need neither Postgres nor a server. */
export default { ...rest, testRegex: '(?<!\\.db)\\.spec\\.ts$' };
