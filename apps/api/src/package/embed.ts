/** The entry point `rollcall/embed`: Rollcall inside another application. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type Type,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { compose, type Composed, listen } from '../boot/start.js';
import { environmentSecrets, loadConfig } from '../config/config.loader.js';
import { PublicUrl } from '../http/public.url.js';
import type { Plugin } from '../plugins/plugin.js';
import { createPino } from '../telemetry/logger.js';

export { definePlugin, type Plugin } from '../plugins/plugin.js';

/** How Rollcall starts in another process. */
export interface EmbedOptions {
  /**
   * The settings by the names of their environment variables, as in docs/configuration.md. `process.env` is read only if it is passed here.
   */
  readonly settings?: Readonly<Record<string, string | undefined>>;
  /** The folder of `rollcall.yaml` and `.env`, and of relative paths of plugins. The default is the working directory. */
  readonly folder?: string;
  /** Plugins in addition to those of the setting `plugins`, each with its configuration if it has one. */
  readonly plugins?: readonly (Plugin | { readonly plugin: Plugin; readonly config: unknown })[];
}

/** A running Rollcall without a port of its own. It serves requests after `attach` or `listen`. */
export class EmbeddedRollcall {
  /** Use `createRollcall`. */
  private constructor(
    private readonly composed: Composed,
    /** The admin key of the settings, or the one that this start has created. Undefined if an earlier start has created it. */
    readonly adminKey: string | undefined,
  ) {}

  /** @internal */
  static of(composed: Composed, adminKey: string | undefined): EmbeddedRollcall {
    return new EmbeddedRollcall(composed, adminKey);
  }

  /** Returns a service of Rollcall, such as `RunsService` of `rollcall/plugin`. */
  get<Service>(token: Type<Service> | (abstract new (...parameters: never[]) => Service)): Service {
    return this.composed.app.nest.get<Service>(token, { strict: false });
  }

  /**
   * Serves all requests and WebSockets of this server whose path begins with the prefix, such as `/rollcall`. All others reach the listeners
   * that the server has now.
   */
  attach(server: Server, prefix: string): void {
    if (!/^(\/[\w.~-]+)+$/.test(prefix))
      throw new Error(`The prefix ${prefix} is invalid. Use a path such as /rollcall.`);
    const own = this.composed.app.nest.getHttpServer();
    this.composed.app.nest.get(PublicUrl, { strict: false }).servedBy(server, prefix);
    for (const event of ['request', 'upgrade'] as const) {
      const others = server.listeners(event) as ((...values: unknown[]) => void)[];
      server.removeAllListeners(event);
      server.on(event, (request: IncomingMessage, reply: ServerResponse | Duplex, ...rest: unknown[]) => {
        const url = withoutPrefix(request.url ?? '/', prefix);
        if (url === '' && event === 'request') {
          // the addresses of all pages are relative to a folder
          (reply as ServerResponse).writeHead(308, { location: `${prefix}/` }).end();
        } else if (url !== undefined) {
          request.url = url;
          own.emit(event, request, reply, ...rest);
        } else if (others.length > 0) for (const listener of others) listener.call(server, request, reply, ...rest);
        else reply.destroy();
      });
    }
  }

  /** Listens on a port of its own, 0 for any free one, and returns the URL. */
  async listen(port: number, host = '127.0.0.1'): Promise<string> {
    return await listen(this.composed, { port, host });
  }

  /** Hands work over to other replicas, and closes all connections. */
  async stop(): Promise<void> {
    await this.composed.stop();
  }
}

function withoutPrefix(url: string, prefix: string): string | undefined {
  if (url === prefix || url.startsWith(`${prefix}?`)) return '';
  return url.startsWith(`${prefix}/`) ? url.slice(prefix.length) : undefined;
}

/** Starts the whole product in this process: REST, WebSocket, A2A and MCP, and everything in the background. */
export async function createRollcall({
  settings = {},
  folder = process.cwd(),
  plugins = [],
}: EmbedOptions = {}): Promise<EmbeddedRollcall> {
  const config = loadConfig(settings, folder);
  const given = plugins.map((one) => ('plugin' in one ? one : { plugin: one, config: undefined }));
  const secrets = environmentSecrets(settings, folder);
  const composed = await compose(config, createPino(config.log), { secrets, plugins: given, folder });
  return EmbeddedRollcall.of(composed, config.auth.adminKey ?? composed.adminKey.created);
}

const PREFIX = Symbol('prefix of Rollcall');

/** Rollcall in a Nest application, below a prefix. `EmbeddedRollcall` can be injected, and gives access to the services. */
@Module({})
export class RollcallModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    @Inject(EmbeddedRollcall) private readonly rollcall: EmbeddedRollcall,
    @Inject(PREFIX) private readonly prefix: string,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {}

  static forRoot({
    prefix = '/rollcall',
    ...options
  }: EmbedOptions & { readonly prefix?: string } = {}): DynamicModule {
    const providers = [
      { provide: PREFIX, useValue: prefix },
      { provide: EmbeddedRollcall, useFactory: async () => await createRollcall(options) },
    ];
    return { module: RollcallModule, global: true, providers, exports: [EmbeddedRollcall] };
  }

  onApplicationBootstrap(): void {
    this.rollcall.attach(this.host.httpAdapter.getHttpServer() as Server, this.prefix);
  }

  /** Before the application closes its server, because a server waits for open streams and WebSockets. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.rollcall.stop();
  }
}
