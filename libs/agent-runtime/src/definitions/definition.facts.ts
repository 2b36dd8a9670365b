import { Injectable } from '@nestjs/common';
import { type ModelChoice, PresetCatalog, ProviderError, resolveModel } from '#rollcall/providers';
import type { CostModel } from '#rollcall/registry';
import { capabilitiesOf, type DefinitionContent, NATIVE } from './definition.js';

/** The parts of a definition that the facts depend on. */
export type DefinedParts = Pick<DefinitionContent, 'capabilities' | 'costModel' | 'model'> & {
  readonly provider?: string;
};

/** The share of the input in the tokens of a typical run. The registry compares agents by one price for all tokens. */
const INPUT_SHARE = 0.75;
const MICRO_PER_DOLLAR = 1_000_000;
const UNKNOWN: CostModel = { usdPerTask: null, usdPer1kTokens: null };

/** What follows for the registry from a definition and from the model that it uses here. */
@Injectable()
export class DefinitionFacts {
  constructor(private readonly presets: PresetCatalog) {}

  /** What the definition states and what its model can do: the valid ones, sorted (S0.10). */
  capabilitiesOf(namespace: string, content: DefinedParts): string[] {
    const { capabilities = [] } = content;
    return capabilitiesOf({
      capabilities: [...capabilities, ...(this.modelOf(namespace, content)?.capabilities ?? [])],
    });
  }

  /** Whether models have capabilities at all in this namespace. */
  hasModelCapabilities(namespace: string): boolean {
    return this.presets
      .in(namespace)
      .list()
      .some(({ capabilities = [] }) => capabilities.length > 0);
  }

  /** The price that the definition states, or else that of its model (M-6). */
  costModelOf(namespace: string, content: DefinedParts): CostModel {
    const { usdPerTask = null, usdPer1kTokens = null } = content.costModel ?? {};
    if (usdPerTask !== null || usdPer1kTokens !== null) return { usdPerTask, usdPer1kTokens };
    const prices = this.modelOf(namespace, content)?.prices;
    if (!prices) return UNKNOWN;
    const perMillion = prices.input * INPUT_SHARE + prices.output * (1 - INPUT_SHARE);
    return { usdPerTask: null, usdPer1kTokens: perMillion / 1_000 / MICRO_PER_DOLLAR };
  }

  /** Undefined if another provider runs the agent, or if the operator has removed the preset. */
  private modelOf(namespace: string, { provider = NATIVE, model }: DefinedParts): ModelChoice | undefined {
    if (provider !== NATIVE) return undefined;
    try {
      return resolveModel(model, this.presets.in(namespace)).choice;
    } catch (error) {
      if (error instanceof ProviderError && error.code === 'MODEL_PRESET_UNKNOWN') return undefined;
      throw error;
    }
  }
}
