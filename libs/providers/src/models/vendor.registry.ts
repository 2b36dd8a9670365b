import { NamedRegistry } from '../named.registry.js';
import type { ModelVendor } from './model.vendor.js';
import { ScriptedVendor } from './scripted/scripted.vendor.js';
import { AnthropicVendor } from './vendors/anthropic.vendor.js';
import { OpenAiCompatibleVendor } from './vendors/openai-compatible.vendor.js';
import { OpenAiVendor } from './vendors/openai.vendor.js';

/** The model vendors by name. A new vendor needs one class and one `register` call. */
export class VendorRegistry extends NamedRegistry<ModelVendor> {
  constructor() {
    super({ noun: 'model vendor', unknownCode: 'MODEL_VENDOR_UNKNOWN', takenCode: 'MODEL_VENDOR_TAKEN' });
  }

  static withAll(scripted = new ScriptedVendor()): VendorRegistry {
    return new VendorRegistry()
      .register(new AnthropicVendor())
      .register(new OpenAiVendor())
      .register(new OpenAiCompatibleVendor())
      .register(scripted);
  }
}
