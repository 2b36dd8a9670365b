import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { EgressClient, EgressPolicy, SHORT_CALL_LIMITS } from '#rollcall/providers';
import { DirectoryFollower, Ranker, RegistryClock } from '#rollcall/registry';
import { type ToolBox, toolBox } from '../tool.js';
import { TOOLS_OPTIONS, type ToolsOptions } from '../tools.options.js';
import { BASH, bashTool } from '../workspace/bash.tool.js';
import { WORKSPACE, workspaceToolBox } from '../workspace/workspace.toolbox.js';
import { Workspaces } from '../workspace/workspaces.js';
import { clockToolBox } from './clock.toolbox.js';
import { findAgentsToolBox } from './find-agents.toolbox.js';
import { HTTP_FETCH, httpFetchToolBox } from './http-fetch.toolbox.js';
import { MEMORY_TOOLBOX } from './memory.toolbox.js';

/** The toolboxes that every installation has. What reaches other hosts or the disk is off unless the operator allows it. */
@Injectable()
export class BuiltInToolBoxes implements OnApplicationShutdown {
  readonly all: readonly ToolBox[];
  /** The built-in toolboxes that are off, each with what turns it on. */
  readonly off: ReadonlyMap<string, string>;
  private readonly egress: EgressClient;

  constructor(
    ranker: Ranker,
    follower: DirectoryFollower,
    clock: RegistryClock,
    workspaces: Workspaces,
    @Inject(TOOLS_OPTIONS) { httpFetch, limits, bash }: ToolsOptions,
  ) {
    const { mode, hosts, egress } = httpFetch;
    this.egress = new EgressClient({ policy: new EgressPolicy(egress), limits: SHORT_CALL_LIMITS });
    const off = new Map<string, string>();
    if (mode === 'off') off.set(HTTP_FETCH, 'set ROLLCALL_TOOLS_HTTP_FETCH to read or write');
    if (!workspaces.isOn) off.set(WORKSPACE, 'set ROLLCALL_WORKSPACES to a folder');
    if (!workspaces.isOn || bash.sandbox.length === 0)
      off.set(BASH, 'set ROLLCALL_WORKSPACES to a folder and ROLLCALL_TOOLS_BASH to a sandbox');
    this.off = off;
    this.all = [
      clockToolBox(() => clock.now()),
      findAgentsToolBox({ ranker, follower, clock }),
      MEMORY_TOOLBOX,
      httpFetchToolBox({ fetch: this.egress.fetch, mode, hosts, maxOutputChars: limits.maxOutputChars }),
      workspaceToolBox(workspaces),
      toolBox(BASH, [bashTool(workspaces, bash)]),
    ];
  }

  async onApplicationShutdown(): Promise<void> {
    await this.egress.close();
  }
}
