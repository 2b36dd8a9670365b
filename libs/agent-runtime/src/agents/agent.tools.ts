import { Inject, Injectable, Optional } from '@nestjs/common';
import { Delegation } from '../delegation/delegation.js';
import { ToolCatalog } from '../tools/tool.catalog.js';
import { ToolExecutor } from '../tools/tool.executor.js';
import type { ToolFilter } from '../tools/tool.filter.js';
import type { ToolBox } from '../tools/tool.js';
import { RUNTIME_TOOLS } from './runtime.tools.js';

/** The services that agents use to call tools and other agents. */
@Injectable()
export class AgentTools {
  constructor(
    readonly executor: ToolExecutor,
    @Inject(ToolCatalog) private readonly catalog: Pick<ToolCatalog, 'toolboxes' | 'checkFilter'>,
    @Optional() readonly delegation?: Delegation,
  ) {}

  get boxes(): readonly ToolBox[] {
    return this.catalog.toolboxes;
  }

  /** Throws TOOL_UNKNOWN if the filter names tools that do not exist in the namespace (S4.4). */
  checked(filter: ToolFilter | undefined, namespace: string): ToolFilter | undefined {
    if (filter) this.catalog.checkFilter({ allow: inCatalog(filter.allow), deny: inCatalog(filter.deny) }, namespace);
    return filter;
  }
}

/** The catalog does not contain the tools that the runtime adds to an agent. */
function inCatalog(names: readonly string[] | undefined): readonly string[] | undefined {
  return names?.filter((name) => !RUNTIME_TOOLS.has(name));
}
