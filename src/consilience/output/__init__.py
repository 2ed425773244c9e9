"""What leaves a run: results as trees and stores (`storage`), and what is seen while it goes on (`display`)."""
