package e2e

import (
	"net"
	"sync"
	"time"
)

// Relay forwards TCP connections to an API server and simulates network faults.
type Relay struct {
	Addr     string
	target   string
	listener net.Listener

	mu           sync.Mutex
	held         chan struct{} // non-nil while bytes are held back; closed to go on
	requestsPass bool          // meanwhile requests are still forwarded
	conns        map[net.Conn]bool
}

// NewRelay listens on a free port of the loopback interface.
func NewRelay(target string) (*Relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Relay{Addr: l.Addr().String(), target: target, listener: l, conns: map[net.Conn]bool{}}
	go r.accept()
	return r, nil
}

func (r *Relay) accept() {
	for {
		near, err := r.listener.Accept()
		if err != nil {
			return
		}
		go r.serve(near)
	}
}

func (r *Relay) serve(near net.Conn) {
	defer near.Close()
	far, err := net.DialTimeout("tcp", r.target, 5*time.Second)
	if err != nil {
		return
	}
	defer far.Close()
	r.mu.Lock()
	r.conns[near], r.conns[far] = true, true
	r.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { r.copy(far, near, true) })
	both.Go(func() { r.copy(near, far, false) })
	both.Wait()
	r.mu.Lock()
	delete(r.conns, near)
	delete(r.conns, far)
	r.mu.Unlock()
}

// copy closes both ends when one of them is closed. What is held back then is lost, as bytes are that a network has not
// taken from a sender that resets its connection.
func (r *Relay) copy(to, from net.Conn, asking bool) {
	defer to.Close()
	defer from.Close()
	chunks, gone := make(chan []byte), make(chan struct{})
	done := make(chan struct{})
	defer close(done)
	go func() {
		defer close(chunks)
		defer close(gone)
		for {
			buf := make([]byte, 64<<10)
			n, err := from.Read(buf)
			for n > 0 {
				select {
				case chunks <- buf[:n]:
					n = 0
				case <-done:
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	for chunk := range chunks {
		r.mu.Lock()
		held, requestsPass := r.held, r.requestsPass
		r.mu.Unlock()
		if held != nil && !(asking && requestsPass) {
			select {
			case <-held:
			case <-gone:
				return
			}
		}
		if _, err := to.Write(chunk); err != nil {
			return
		}
	}
}

// Hold delays all bytes in both directions, like a partition: nothing is rejected, nothing arrives.
func (r *Relay) Hold() { r.hold(false) }

// HoldAnswers forwards requests and delays responses.
func (r *Relay) HoldAnswers() { r.hold(true) }

func (r *Relay) hold(requestsPass bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		r.held = make(chan struct{})
	}
	r.requestsPass = requestsPass
}

// Cut closes every connection; what was held back is lost.
func (r *Relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		c.Close()
	}
	r.heal()
}

// Heal forwards the delayed bytes.
func (r *Relay) Heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heal()
}

func (r *Relay) heal() {
	if r.held != nil {
		close(r.held)
		r.held = nil
	}
}

// Close ends the relay.
func (r *Relay) Close() {
	r.listener.Close()
	r.Cut()
}
