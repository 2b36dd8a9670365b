import { pino, type Logger as Pino, type LoggerOptions } from 'pino';
import type { LoggerService } from '@nestjs/common';
import type { Config } from '../config/config.schema.js';
import { requestContext } from '../http/server/request.context.js';

/** Writes JSON lines, or readable lines on a terminal. A line has only the fields named here and at the call. */
export function createPino({ level, format }: Config['log'], terminal = process.stdout.isTTY): Pino {
  const options: LoggerOptions = {
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: errorFacts },
    mixin: () => {
      const request = requestContext.getStore();
      return request ? { requestId: request.id } : {};
    },
  };
  if (!isPretty(format, terminal)) return pino(options, pino.destination({ fd: 1, sync: false }));
  return pino({
    ...options,
    transport: { target: 'pino-pretty', options: PRETTY },
  });
}

/** One line each: time, level, event, message, and the other fields as JSON. */
const PRETTY = {
  ignore: 'pid,hostname,event,context',
  translateTime: 'HH:MM:ss.l',
  singleLine: true,
  messageFormat: '{if event}{event} {end}{msg}',
};

/** Whether lines are formatted for a terminal. Otherwise they are JSON, which a log collector stores. */
export function isPretty(format: Config['log']['format'], terminal = process.stdout.isTTY): boolean {
  return format === 'pretty' || (format === 'auto' && terminal);
}

/** Logs selected properties of an error: the others may contain queries, parameters or credentials. */
function errorFacts(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  const code = (error as { code?: unknown }).code;
  return {
    type: name,
    message,
    stack,
    ...(code !== undefined && { code }),
    ...(cause !== undefined && { cause: errorFacts(cause) }),
  };
}

/** Nest logs every module and route at each start. These lines get the level debug. */
const FRAMEWORK = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
  'WebSocketsController',
  'LazyModuleLoader',
]);

type Level = 'info' | 'error' | 'warn' | 'debug' | 'trace' | 'fatal';

/** Passes the log lines of Nest and of our classes to pino: `logger.log({ event: 'agent.joined', agentId })`. */
export class NestLogger implements LoggerService {
  constructor(private readonly sink: Pino) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.write('info', message, rest);
  }
  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }
  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }
  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }
  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }
  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  /** Nest passes the name of the logger as the last argument, and the stack of an error before it. */
  private write(wanted: Level, message: unknown, rest: unknown[]): void {
    const context = rest.at(-1);
    const level = wanted === 'info' && FRAMEWORK.has(String(context)) ? 'debug' : wanted;
    const fields = { ...(typeof context === 'string' && { context }), ...stackIn(rest) };
    if (message instanceof Error) this.sink[level]({ ...fields, err: message });
    else if (typeof message === 'object' && message !== null) this.sink[level]({ ...fields, ...message });
    else this.sink[level](fields, String(message));
  }
}

function stackIn(rest: unknown[]): { stack?: string } {
  const strings = rest.slice(0, -1).filter((item) => typeof item === 'string');
  const stack = strings.find((item) => item.includes('\n    at '));
  return stack === undefined ? {} : { stack };
}
