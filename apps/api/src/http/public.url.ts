import type { Server } from 'node:http';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';

const ANY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/**
 * The address at which clients reach this installation. It never comes from the Host header, because a client could then place
 * its own address in a cached card.
 */
@Injectable()
export class PublicUrl implements OnModuleInit {
  /** Kept, because calls of agents still need it while the server is closed. */
  private port?: number;
  /** The path of the server below which another application serves Rollcall. */
  private prefix = '';

  constructor(
    private readonly adapter: HttpAdapterHost,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onModuleInit(): void {
    this.servedBy(this.adapter.httpAdapter.getHttpServer() as Server, '');
  }

  /** The server that clients reach, and the path in front of all routes, such as `/rollcall`. */
  servedBy(server: Server, prefix: string): void {
    this.prefix = prefix;
    const learn = (): void => {
      const address = server.address();
      if (typeof address === 'object' && address !== null) this.port = address.port;
    };
    if (server.listening) learn();
    else server.once('listening', learn);
  }

  /** The path in front of all routes, without a slash at its end. */
  get path(): string {
    return new URL(this.of('/')).pathname.replace(/\/$/, '');
  }

  /** The URL of a path that starts with `/`. */
  of(path: string): string {
    return `${(this.config.http.publicUrl ?? this.own()).replace(/(?<!\/)\/+$/, '')}${path}`;
  }

  /** The address on which this replica listens. */
  private own(): string {
    const { host } = this.config.http;
    const { port = this.config.http.port } = this;
    const name = ANY_ADDRESS.has(host) ? '127.0.0.1' : host;
    return `http://${name.includes(':') ? `[${name}]` : name}:${port}${this.prefix}`;
  }
}
