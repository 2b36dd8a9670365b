import { listSettings } from '../config/setting.js';
import { ConfigSchema } from '../config/config.schema.js';
import { readArguments } from './arguments.js';

describe('the command line (N5)', () => {
  it('each option sets an environment variable of a known setting', () => {
    const given = ['--port', '9000', '--host=::1', '--data-dir', 'x', '--database-url', 'postgres://h/d'];
    expect(readArguments(given)).toEqual({
      environment: { PORT: '9000', HOST: '::1', ROLLCALL_DATA_DIR: 'x', DATABASE_URL: 'postgres://h/d' },
    });
    const { print } = readArguments(['--help']) as { print: string };
    const named = [...print.matchAll(/Sets ([A-Z_]+)\./g)].map(([, name]) => name);
    const known = new Set([...listSettings(ConfigSchema).map(({ env }) => env), 'ROLLCALL_CONFIG']);
    expect(named.filter((name) => !known.has(name ?? ''))).toEqual([]);
    expect(named).toHaveLength(6);
  });

  it('an empty command line sets no environment variable', () => {
    expect(readArguments([])).toEqual({ environment: {} });
  });

  it('--help and --version print a text, and the process exits', () => {
    expect(readArguments(['-h'])).toMatchObject({ exitCode: 0 });
    expect(readArguments(['--version'])).toMatchObject({ print: expect.stringMatching(/^\d+\.\d+\.\d+/) as string });
  });

  it.each([[['--prot', '9000']], [['start']], [['--port']]])(
    'rejects the arguments %j and prints the help',
    (given) => {
      expect(readArguments(given)).toMatchObject({ exitCode: 2, print: expect.stringContaining('Usage:') as string });
    },
  );
});
