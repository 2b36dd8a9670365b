import type { LanguageModelV4 } from '@ai-sdk/provider';
import { ProviderError } from '../../errors.js';
import { AiSdkModelProvider } from '../ai-sdk/ai-sdk.model-provider.js';
import type { ModelProvider } from '../model.provider.js';
import type { ModelConnection, ModelVendor } from '../model.vendor.js';

/** Any server with OpenAI's chat completions API, such as Ollama, vLLM, llama.cpp or an LLM gateway. Most need no key. */
export class OpenAiCompatibleVendor implements ModelVendor {
  readonly name = 'openai-compatible';
  readonly about = "Any server with OpenAI's chat completions API, such as Ollama, vLLM, llama.cpp or an LLM gateway";
  readonly needsBaseUrl = true;
  readonly needsKey = false;

  open({ model, baseUrl, key, fetch }: ModelConnection): ModelProvider {
    if (!baseUrl) throw missingBaseUrl(model);
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
}

function missingBaseUrl(model: string): ProviderError {
  return new ProviderError(
    'MODEL_CHOICE_INVALID',
    `The model ${model} of vendor openai-compatible needs a baseUrl, such as http://127.0.0.1:11434/v1 for Ollama.`,
  );
}
