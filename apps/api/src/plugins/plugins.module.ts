import { type DynamicModule, Injectable, Module, type OnApplicationBootstrap, type Type } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { ToolCatalog } from '#rollcall/agent-runtime';
import { DEFAULT_NAMESPACE } from '#rollcall/platform';
import { HttpMetrics } from '../telemetry/http.metrics.js';
import { counter } from '../telemetry/measure.js';
import { PluginError } from './plugin.reader.js';
import { PluginSinks } from './plugin.sinks.js';
import { Plugins } from './plugins.js';
import { PluginsController } from './plugins.controller.js';

/** The prefix of the routes of plugins. */
const ROUTES = 'x';

/** Counts the failures of plugins. */
@Injectable()
class PluginMetrics {
  constructor(plugins: Plugins, { registry }: HttpMetrics) {
    const faults = {
      name: 'rollcall_plugin_failures_total',
      help: 'Failures of the code of plugins on this replica, by plugin, part and kind (`error`, `timeout`).',
      labels: ['plugin', 'part', 'kind'],
    } as const;
    counter(registry, faults, () =>
      plugins.all.flatMap(({ name: plugin, guard }) =>
        guard.faults.map(({ part, kind, count }) => [count, { plugin, part, kind }] as const),
      ),
    );
  }
}

/** Stops the start if a tool of a plugin has the name of another tool: agents would use only one of them. */
@Injectable()
class PluginToolNames implements OnApplicationBootstrap {
  constructor(
    private readonly plugins: Plugins,
    private readonly tools: ToolCatalog,
  ) {}

  onApplicationBootstrap(): void {
    const byBox = new Map(
      this.plugins.all.flatMap(({ name, parts }) =>
        [name, ...parts.toolBoxes.map((box) => box.name)].map((box) => [box, name]),
      ),
    );
    if (byBox.size === 0) return;
    const boxes = new Map<string, string>();
    for (const { tool, toolbox } of this.tools
      .list(DEFAULT_NAMESPACE)
      .toSorted((one, other) => Number(byBox.has(one.toolbox)) - Number(byBox.has(other.toolbox)))) {
      const other = boxes.get(tool.name);
      const plugin = byBox.get(toolbox);
      if (other !== undefined && plugin !== undefined)
        throw new PluginError(
          plugin,
          `tools: the name ${tool.name} is already used by ${describe(other, byBox.get(other))}. Rename one of them.`,
        );
      boxes.set(tool.name, toolbox);
    }
  }
}

function describe(toolbox: string, plugin: string | undefined): string {
  return plugin === undefined ? `the toolbox ${toolbox} of Rollcall` : `the plugin ${plugin}`;
}

/** The parts of plugins that need the application: routes, sinks and metrics. Other parts are options of the libraries. */
@Module({})
export class PluginsModule {
  static forRoot(plugins: Plugins): DynamicModule {
    const modules = plugins.all.flatMap(({ name, parts }) =>
      parts.modules.map((module) => ({ path: `${ROUTES}/${name}`, module })),
    );
    return {
      module: PluginsModule,
      imports: [
        ...modules.map(({ module }) => module),
        RouterModule.register(modules.map(({ path, module }) => ({ path, module: classOf(module) }))),
      ],
      controllers: [PluginsController],
      providers: [{ provide: Plugins, useValue: plugins }, PluginSinks, PluginMetrics, PluginToolNames],
    };
  }
}

function classOf(module: Type | DynamicModule): Type {
  return 'module' in module ? module.module : module;
}
