// Search on a page that was opened from a folder: browsers start no worker from a file, so its script runs in a hidden
// frame of the page instead. Zensical takes a file of this name for its own, which it would fetch from the network.
if (location.protocol === "file:") {
  window.Worker = class {
    onmessage = null
    onerror = null
    #frame = document.createElement("iframe")
    #waiting = []

    constructor(address) {
      this.#frame.hidden = true
      document.body.append(this.#frame)
      const inside = this.#frame.contentWindow
      // Written once, the frame's page stays: what is set below would be lost with an empty one in some browsers.
      inside.document.open()
      inside.document.write("<!doctype html><body></body>")
      inside.document.close()
      inside.postMessage = (data) => setTimeout(() => this.onmessage?.({ data }))
      const script = inside.document.createElement("script")
      script.src = new URL(address, document.baseURI)
      script.onload = () => {
        const waiting = this.#waiting
        this.#waiting = null
        waiting.forEach((data) => this.postMessage(data))
      }
      script.onerror = (event) => this.onerror?.(event)
      inside.document.body.append(script)
    }

    postMessage(data) {
      if (this.#waiting) this.#waiting.push(data)
      else setTimeout(() => this.#frame.contentWindow?.onmessage({ data }))
    }

    terminate() {
      this.#frame.remove()
    }
  }
}
