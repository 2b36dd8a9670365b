import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Config } from '../../config/config.schema.js';
import { CONFIG } from '../../config/config.token.js';

const ANY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/**
 * The address at which clients reach this installation. It never comes from the Host header, because a client could then place
 * its own address in a cached card.
 */
@Injectable()
export class PublicUrl implements OnModuleInit {
  /** Kept, because calls of agents still need it while the server is closed. */
  private port?: number;

  constructor(
    private readonly adapter: HttpAdapterHost,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onModuleInit(): void {
    const server = this.adapter.httpAdapter.getHttpServer() as Server;
    server.once('listening', () => (this.port = (server.address() as AddressInfo).port));
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
    return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
  }
}
