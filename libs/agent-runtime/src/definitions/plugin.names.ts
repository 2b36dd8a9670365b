import { Injectable } from '@nestjs/common';
import { INHERIT, PresetCatalog, resolveModel } from '#rollcall/providers';
import { rootContext, ToolCatalog } from '../tools/tool.catalog.js';
import type { DefinitionContent } from './definition.js';

/** The names that one plugin adds, which definitions can use. */
export interface PluginOwnership {
  readonly plugin: string;
  /** The names of its toolboxes. */
  readonly toolBoxes: readonly string[];
  readonly agentProviders: readonly string[];
  readonly modelVendors: readonly string[];
}

/** Which plugins this replica has, and which of them a definition needs. */
@Injectable()
export class PluginNames {
  readonly all: readonly string[];

  constructor(
    private readonly owned: readonly PluginOwnership[],
    private readonly tools: ToolCatalog,
    private readonly presets: PresetCatalog,
  ) {
    this.all = owned.map(({ plugin }) => plugin);
  }

  has(plugins: readonly string[]): boolean {
    return plugins.every((plugin) => this.all.includes(plugin));
  }

  /** Adds the plugins of the tools, the provider and the model that the content names. */
  complete(content: DefinitionContent, namespace: string): DefinitionContent {
    if (this.owned.length === 0) return content;
    const vendor = this.vendorOf(content, namespace);
    const toolsOf = new Set(content.tools ?? []);
    const context = rootContext(namespace);
    const needed = this.owned.filter(
      ({ toolBoxes, agentProviders, modelVendors }) =>
        agentProviders.includes(content.provider) ||
        (vendor !== undefined && modelVendors.includes(vendor)) ||
        this.tools.toolboxes.some(
          (box) => toolBoxes.includes(box.name) && box.tools(context).some(({ name }) => toolsOf.has(name)),
        ),
    );
    const plugins = [...new Set([...(content.plugins ?? []), ...needed.map(({ plugin }) => plugin)])].toSorted();
    return plugins.length === 0 ? content : { ...content, plugins };
  }

  private vendorOf({ model }: DefinitionContent, namespace: string): string | undefined {
    if (model === INHERIT) return undefined;
    return resolveModel(model, this.presets.in(namespace)).choice.vendor;
  }
}
