import { Inject, Injectable } from '@nestjs/common';
import { ToolCatalog } from '../tools/tool.catalog.js';
import { ToolExecutor } from '../tools/tool.executor.js';
import type { ToolFilter } from '../tools/tool.filter.js';
import type { ToolBox } from '../tools/tool.js';

/** Tools that the runtime adds to an agent. They are in no toolbox of the catalog. */
export const RUNTIME_TOOLS: ReadonlySet<string> = new Set([
  'ask_caller',
  'activate_skill',
  'list_agents',
  'delegate_to_agent',
  'spawn_agents',
  'spawn_subagent',
]);

/** What agents use to call tools. */
@Injectable()
export class AgentTools {
  constructor(
    readonly executor: ToolExecutor,
    @Inject(ToolCatalog) private readonly catalog: Pick<ToolCatalog, 'toolboxes' | 'checkFilter'>,
  ) {}

  get boxes(): readonly ToolBox[] {
    return this.catalog.toolboxes;
  }

  /** Throws TOOL_UNKNOWN if the filter names tools that do not exist (S4.4). */
  checked(filter: ToolFilter | undefined): ToolFilter | undefined {
    if (filter) this.catalog.checkFilter({ allow: known(filter.allow), deny: known(filter.deny) }, 'default');
    return filter;
  }
}

function known(names: readonly string[] | undefined): readonly string[] | undefined {
  return names?.filter((name) => !RUNTIME_TOOLS.has(name));
}
