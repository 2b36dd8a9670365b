import type { LanguageModelV4 } from '@ai-sdk/provider';
import { ProviderError } from '../../errors.js';
import { AiSdkModelProvider } from '../ai-sdk/ai-sdk.model-provider.js';
import type { ModelProvider } from '../model.provider.js';
import type { ModelConnection, ModelVendor } from '../model.vendor.js';

interface CompatibleOptions {
  readonly name: string;
  readonly about: string;
  readonly needsKey?: boolean;
  readonly defaultBaseUrl?: string;
}

/** A server with OpenAI's chat completions API. */
export class OpenAiCompatibleVendor implements ModelVendor {
  readonly name: string;
  readonly about: string;
  readonly needsBaseUrl: boolean;
  readonly needsKey: boolean;
  private readonly defaultBaseUrl?: string;

  constructor({ name, about, needsKey = false, defaultBaseUrl }: CompatibleOptions = ANY_SERVER) {
    this.name = name;
    this.about = about;
    this.needsKey = needsKey;
    this.needsBaseUrl = defaultBaseUrl === undefined;
    this.defaultBaseUrl = defaultBaseUrl;
  }

  open({ model, baseUrl = this.defaultBaseUrl, key, fetch }: ModelConnection): ModelProvider {
    if (!baseUrl) throw this.missingBaseUrl(model);
    const load = async (): Promise<LanguageModelV4> => {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      const server = createOpenAICompatible({
        name: this.name,
        baseURL: baseUrl,
        apiKey: key?.reveal(),
        fetch,
        includeUsage: true,
        supportsStructuredOutputs: true,
      });
      return server.chatModel(model);
    };
    return new AiSdkModelProvider({ vendor: this.name, model, load, key });
  }

  private missingBaseUrl(model: string): ProviderError {
    return new ProviderError(
      'MODEL_CHOICE_INVALID',
      `The model ${model} of vendor ${this.name} needs a baseUrl, such as http://127.0.0.1:8000/v1 for vLLM.`,
    );
  }
}

/** Most such servers need no key. */
const ANY_SERVER: CompatibleOptions = {
  name: 'openai-compatible',
  about: "Any server with OpenAI's chat completions API, such as llama.cpp or an LLM gateway",
};

/** Servers with OpenAI's chat completions API that have a name of their own. */
export const COMPATIBLE_SERVERS: readonly CompatibleOptions[] = [
  {
    name: 'openrouter',
    about: 'OpenRouter, which passes requests on to many vendors',
    needsKey: true,
    defaultBaseUrl: 'https://openrouter.ai/api/v1',
  },
  {
    name: 'ollama',
    about: 'Models on a computer of your own with Ollama',
    defaultBaseUrl: 'http://127.0.0.1:11434/v1',
  },
  { name: 'vllm', about: 'Models on servers of your own with vLLM' },
];
