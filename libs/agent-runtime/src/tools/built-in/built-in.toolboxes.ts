import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { EgressClient, EgressPolicy, SHORT_CALL_LIMITS } from '#rollcall/providers';
import { DirectoryFollower, Ranker, RegistryClock } from '#rollcall/registry';
import type { ToolBox } from '../tool.js';
import { TOOLS_OPTIONS, type ToolsOptions } from '../tools.options.js';
import { clockToolBox } from './clock.toolbox.js';
import { findAgentsToolBox } from './find-agents.toolbox.js';
import { HTTP_FETCH, httpFetchToolBox } from './http-fetch.toolbox.js';
import { MEMORY_TOOLBOX } from './memory.toolbox.js';

/** The toolboxes that every installation has. `http_fetch` is off unless the operator allows it. */
@Injectable()
export class BuiltInToolBoxes implements OnApplicationShutdown {
  readonly all: readonly ToolBox[];
  /** The names of those that the options turn off. */
  readonly off: readonly string[];
  private readonly egress: EgressClient;

  constructor(
    ranker: Ranker,
    follower: DirectoryFollower,
    clock: RegistryClock,
    @Inject(TOOLS_OPTIONS) { httpFetch, limits }: ToolsOptions,
  ) {
    const { mode, hosts, egress } = httpFetch;
    this.egress = new EgressClient({ policy: new EgressPolicy(egress), limits: SHORT_CALL_LIMITS });
    this.off = mode === 'off' ? [HTTP_FETCH] : [];
    this.all = [
      clockToolBox(() => clock.now()),
      findAgentsToolBox({ ranker, follower, clock }),
      MEMORY_TOOLBOX,
      httpFetchToolBox({ fetch: this.egress.fetch, mode, hosts, maxOutputChars: limits.maxOutputChars }),
    ];
  }

  async onApplicationShutdown(): Promise<void> {
    await this.egress.close();
  }
}
