import { Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';

interface DecoratedMethod<Options> {
  options: Options;
  call(): Promise<unknown>;
}

type Instance = Record<string, unknown>;

/** Finds all methods of providers that were marked with a given metadata key. */
@Injectable()
export class DecoratedMethods {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  find<Options>(key: string): DecoratedMethod<Options>[] {
    return [...this.instances()].flatMap((instance) => this.findOn<Options>(instance, key));
  }

  /** Returns each instance once, even if it is provided under several tokens. */
  private instances(): Set<Instance> {
    const all = this.discovery.getProviders().map(({ instance }) => instance as unknown);
    return new Set(all.filter((one): one is Instance => typeof one === 'object' && one !== null));
  }

  private findOn<Options>(instance: Instance, key: string): DecoratedMethod<Options>[] {
    const prototype = Object.getPrototypeOf(instance) as Instance | null;
    const names = prototype ? this.scanner.getAllMethodNames(prototype) : [];
    return names.flatMap((name) => {
      const method = instance[name] as () => Promise<unknown>;
      const options = this.reflector.get<Options | undefined>(key, method);
      return options === undefined ? [] : [{ options, call: async () => await method.call(instance) }];
    });
  }
}
