import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '#rollcall/test-support';
import { call } from '../support/call.js';
import { EmbeddedProcesses } from '../support/embedded-processes.js';
import { serversOn } from '../support/process.js';

let processes: EmbeddedProcesses;
beforeAll(async () => void (processes = await EmbeddedProcesses.initialise()));
afterAll(() => processes.remove());
beforeEach(() => processes.beforeTest());
afterEach(async () => await processes.afterTest());

describe('the embedded Postgres', () => {
  it('A15 the embedded Postgres does not receive the secrets of the environment', async () => {
    await processes
      .startAgain({
        ROLLCALL_ADMIN_KEY: 'secret-'.repeat(6),
        ANTHROPIC_API_KEY: 'sk-secret',
        PGOPTIONS: '',
      })
      .ready();
    const servers = serversOn(processes.folder);
    expect(servers).not.toHaveLength(0);
    for (const pid of servers) {
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
      expect(environment).not.toContain('secret');
      expect(environment).not.toContain('ROLLCALL_');
    }
  });
});

describe('the end of the process', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '%s ends the process normally and stops the embedded Postgres',
    async (signal) => {
      const first = await processes.startAgain().ready();
      expect(serversOn(processes.folder)).not.toHaveLength(0);
      expect(await first.end(signal)).toBe(0);
      expect(serversOn(processes.folder)).toHaveLength(0);
    },
  );

  it.each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)(
    'the process ends when npm receives %s, and stops the embedded Postgres',
    async (signal) => {
      processes.copyInitialised();
      const throughNpm = processes.start({}, { command: ['npm', 'start'] });
      await throughNpm.ready();
      await throughNpm.end(signal);
      await processes.untilNoServer();
      await until(
        'the port is closed',
        async () =>
          await fetch(throughNpm.url).then(
            () => false,
            () => true,
          ),
      );
    },
  );

  it('the embedded Postgres stops after a SIGKILL of the process, and the next start uses the same data', async () => {
    const first = await processes.startAgain().ready();
    const key = readFileSync(join(processes.folder, 'admin.key'), 'utf8').trim();
    expect(await first.end('SIGKILL')).toBe('SIGKILL');
    const second = await processes.start().ready();
    expect((await call(second.url, 'GET', '/v1/me', { key })).status).toBe(200);
    expect(await second.end('SIGKILL')).toBe('SIGKILL');
    await processes.untilNoServer();
  });

  it('a SIGKILL during the first start does not prevent the next start', async () => {
    const first = processes.start();
    await until(
      'the cluster is being created',
      () =>
        first.output !== '' ||
        serversOn(processes.folder).length > 0 ||
        existsSync(join(processes.folder, 'postgres.new')),
    );
    await first.end('SIGKILL');
    const second = await processes.start().ready();
    expect((await call(second.url, 'GET', '/health/ready', {})).status).toBe(200);
  });
});
