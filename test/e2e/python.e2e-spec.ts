import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { startApi } from '../support/api.js';

const hasPython = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']).status === 0;
if (!hasPython) process.stderr.write('python3 is not installed, so examples/python is not tested\n');

describe('examples/python', () => {
  (hasPython ? it : it.skip)(
    'N-5 passes its own tests, with the standard library alone',
    async () => {
      // an eviction is noticed soon, and a busy machine causes none
      const api = await startApi({ ROLLCALL_HEARTBEAT_EVERY: '2s', ROLLCALL_MISSED_BEATS: '15' });
      const flags = ['-B', '-m', 'unittest', 'discover', 'examples/python'];
      const env = { PATH: process.env['PATH'], ROLLCALL_URL: api.url, ROLLCALL_KEY: api.adminKey };
      const { stderr } = await promisify(execFile)('python3', flags, { env, timeout: 80_000 });
      expect(stderr).toMatch(/Ran \d+ tests[^]*OK\n$/);
      await api.stop();
    },
    90_000,
  );
});
