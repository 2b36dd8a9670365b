import type { Logger as Pino } from 'pino';
import type { Config } from '../config/config.schema.js';
import { VERSION } from '../version.js';
import type { Running } from './start.js';

/** Tells a person what to do next; tells a log collector one event. */
export function announce(running: Running, { log }: Config, pino: Pino): void {
  const { url, embedded, adminKey } = running;
  pino.info({ event: 'process.started', url, docs: `${url}/docs`, embedded, adminKeyFile: adminKey.file }, 'ready');
  const forPeople = embedded || log.format === 'pretty' || process.stdout.isTTY;
  if (forPeople) process.stdout.write(announcement(running));
  else if (adminKey.created && !adminKey.file)
    process.stderr.write(`The admin key, shown this once: ${adminKey.created}\n`);
}

export function announcement({ url, embedded, adminKey }: Running): string {
  const lines = [
    '',
    `  Rollcall ${VERSION} is ready.`,
    '',
    `  API    ${url}`,
    `  Docs   ${url}/docs`,
    `  Data   ${embedded ? 'embedded Postgres, for this process alone' : 'Postgres of DATABASE_URL'}`,
    ...keyLines(adminKey),
    '',
    '  Try it:',
    `  curl -s -H "Authorization: Bearer ${adminKey.shell}" '${url}/v1/me'`,
    '',
    '',
  ];
  return lines.join('\n');
}

function keyLines({ created, file, shell }: Running['adminKey']): string[] {
  const lost = shell.startsWith('<')
    ? ['  Key    none is kept here; lost it? Start with ROLLCALL_ADMIN_KEY set to a new one']
    : [];
  const kept = file ? [`  Key    ${file}`] : lost;
  return created ? [...kept, `         ${created}  (shown this once)`] : kept;
}
