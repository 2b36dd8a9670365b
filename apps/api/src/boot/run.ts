import type { Logger as Pino } from 'pino';
import { DeploymentInvalidError, UnknownToolBoxError } from '#rollcall/agent-runtime';
import { AdminKeyError, DatabaseRefusedError, DataFolderError } from '#rollcall/platform';
import { Keyring, type SecretSource } from '#rollcall/providers';
import type { ConstantChanges } from '../config/config.constants.js';
import { ConfigError, environmentSecrets, loadConfig, variableNames } from '../config/config.loader.js';
import { type Config, ConfigSchema } from '../config/config.schema.js';
import { providersOptions } from '../config/library.options.js';
import { listSettings } from '../config/setting.js';
import { unknownVariables } from '../config/unknown.settings.js';
import { PluginError } from '../plugins/plugin.reader.js';
import { createPino } from '../telemetry/logger.js';
import type { Tracing } from '../telemetry/tracing.js';
import { announce } from './announcement.js';
import { ListenError, migrateDatabase, type Running, start, type StartOptions } from './start.js';

/** Errors that the operator can fix. Their message is printed without a stack trace. */
const OPERATOR_ERRORS = [
  AdminKeyError,
  ConfigError,
  DataFolderError,
  DatabaseRefusedError,
  DeploymentInvalidError,
  ListenError,
  PluginError,
  UnknownToolBoxError,
];

/** Runs the process: start, announce the address, and shut down in order on a signal. */
export async function run(
  environment: NodeJS.ProcessEnv,
  folder: string,
  tracing?: Tracing,
  constants?: ConstantChanges,
): Promise<void> {
  let pino: Pino | undefined;
  try {
    const config = loadConfig(environment, folder, constants);
    pino = createPino(config.log);
    for (const { name, warning } of unknownVariables(variableNames(environment, folder)))
      pino.warn({ event: 'config.unknown_variable', name }, warning);
    warnOfMissingKey(config, pino);
    const secrets = environmentSecrets(environment, folder);
    removeSecrets(process.env, config, secrets);
    const running = await startUnlessStopped(config, pino, { tracing, secrets });
    if (running) announce(running, config, pino);
  } catch (error) {
    await fail(error, pino);
  }
}

/** Migrates the database, and ends the process. The replicas can then run with a role that may not change the schema. */
export async function runMigrate(environment: NodeJS.ProcessEnv, folder: string): Promise<void> {
  let pino: Pino | undefined;
  try {
    const config = loadConfig(environment, folder);
    pino = createPino(config.log);
    const ran = await migrateDatabase(config, pino);
    process.stdout.write(ran > 0 ? `Applied ${ran} migrations.\n` : 'The database is up to date.\n');
    await exit(pino, 0);
  } catch (error) {
    await fail(error, pino);
  }
}

/**
 * Removes what Rollcall has read, so that neither a child process nor a diagnostic report contains it (S-11). The kernel keeps a copy
 * of the initial environment, which processes of the same user can read: see the users of programs in docs/security.md.
 */
function removeSecrets(env: NodeJS.ProcessEnv, config: Config, secrets: SecretSource): void {
  const settings = listSettings(ConfigSchema).filter(({ secret }) => secret);
  const keys = new Keyring(providersOptions(config, secrets)).all;
  for (const name of [...settings.map((one) => one.env), ...keys]) delete env[name];
}

/** Only webhooks need the sealing key, so the process starts without it. With the embedded Postgres, a key file is created. */
function warnOfMissingKey({ database, auth }: Config, pino: Pino): void {
  if (!database.url || auth.sealingKey.length > 0) return;
  const advice = 'Set it to the same value on every replica (openssl rand -hex 32).';
  pino.warn(
    { event: 'config.sealing_key_missing' },
    `Webhooks cannot be created without ROLLCALL_SEALING_KEY. ${advice}`,
  );
}

/**
 * Returns undefined when a signal arrives during the start: no request is in progress, so the process exits immediately, and the
 * embedded Postgres stops with it. After the start, the first signal begins an orderly shutdown and a second one exits immediately.
 */
async function startUnlessStopped(config: Config, pino: Pino, options: StartOptions): Promise<Running | undefined> {
  let stopping = false;
  let running: Running | undefined;
  const stop = async (signal: string): Promise<void> => {
    if (stopping) process.exit(130);
    stopping = true;
    pino.info({ event: 'process.stopping', signal }, 'stopping');
    await running?.stop();
    pino.info({ event: 'process.stopped' }, 'stopped');
    await exit(pino, 0);
  };
  const onSignal = (signal: string): void => void stop(signal).catch(async (error: unknown) => await fail(error, pino));
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('SIGHUP', onSignal);
  process.on('uncaughtException', (error) => void fail(error, pino));
  process.on('unhandledRejection', (error) => void fail(error, pino));
  try {
    running = await start(config, pino, options);
  } catch (error) {
    if (!stopping) throw error;
  }
  return stopping ? undefined : running;
}

let failed = false;

/** Reports only the first failure: later ones are consequences of it. */
async function fail(error: unknown, pino: Pino | undefined): Promise<void> {
  if (failed) return;
  failed = true;
  if (OPERATOR_ERRORS.some((kind) => error instanceof kind)) process.stderr.write(`\n${(error as Error).message}\n\n`);
  else if (pino) pino.fatal({ event: 'process.failed', err: error });
  else process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  await exit(pino, 1);
}

async function exit(pino: Pino | undefined, code: number): Promise<void> {
  if (pino) await new Promise((resolve) => pino.flush(resolve));
  process.exit(code);
}
