import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { type AgentRuntimeOptions, DEFAULT_RUNTIME_OPTIONS } from './agent-runtime.options.js';
import { GuardedAgents } from './calls/guarded.agents.js';
import { SkillLibrary } from './skills/skill.library.js';
import { BuiltInToolBoxes } from './tools/built-in/built-in.toolboxes.js';
import { McpToolBoxes } from './tools/mcp/mcp.toolboxes.js';
import { ToolPinStore } from './tools/mcp/tool-pin.store.js';
import { ToolPinsService } from './tools/mcp/tool-pins.service.js';
import { ToolCatalog } from './tools/tool.catalog.js';
import { ToolExecutor } from './tools/tool.executor.js';
import { ToolExplorer } from './tools/tool.explorer.js';
import { TOOLS_OPTIONS, type ToolsOptions } from './tools/tools.options.js';

/** Calls agents and runs them, with their tools and skills. It needs `PlatformModule`, `RegistryModule` and `ProvidersModule`. */
@Module({})
export class AgentRuntimeModule {
  static forRoot({ skills, tools }: AgentRuntimeOptions = DEFAULT_RUNTIME_OPTIONS): DynamicModule {
    return {
      module: AgentRuntimeModule,
      global: true,
      providers: [
        GuardedAgents,
        { provide: SkillLibrary, useFactory: () => new SkillLibrary(skills) },
        ...toolProviders(tools),
      ],
      exports: [GuardedAgents, SkillLibrary, ToolCatalog, ToolExecutor, ToolPinsService],
    };
  }
}

function toolProviders(options: ToolsOptions): Provider[] {
  return [
    { provide: TOOLS_OPTIONS, useValue: options },
    { provide: ToolExecutor, useFactory: () => new ToolExecutor(options.limits) },
    ToolExplorer,
    BuiltInToolBoxes,
    ToolCatalog,
    ToolPinStore,
    McpToolBoxes,
    ToolPinsService,
  ];
}
